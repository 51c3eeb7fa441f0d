package dispatch

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

// namesMost is how many integrations a summary names.
const namesMost = 3

// describe returns the summary and the priority of a workflow for some integrations; nil: those of the exports.
func describe(exports []*model.Export, tenants, to []string) (summary string, p temporal.Priority) {
	switch {
	case len(exports) == 1:
		summary, p = webhook.EventExport+" of "+tenants[0], workflows.PriorityOf(tenants[0], urgency(exports[0]))
	case len(tenants) == 1:
		summary, p = fmt.Sprintf("%d exports of %s", len(exports), tenants[0]), workflows.PriorityOf(tenants[0], workflows.Received)
	default: // integrations of different tenants may have the same name
		return fmt.Sprintf("%d exports of %d tenants", len(exports), len(tenants)), workflows.PriorityOf("", workflows.Received)
	}
	for _, e := range exports {
		if len(exports) > 1 {
			to = append(to, e.Integrations...)
		}
	}
	if to = model.Distinct(to); len(to) > namesMost {
		to = append(to[:namesMost:namesMost], fmt.Sprintf("%d more", len(to)-namesMost))
	}
	if len(to) > 0 {
		summary += " → " + strings.Join(to, ", ")
	}
	return summary, p
}

// details returns a link to the exports in the console, as Temporal's UI shows it.
func (d *Dispatcher) details(exports []*model.Export, tenants []string) string {
	c := d.InForce.Current()
	if c == nil {
		return ""
	}
	if len(exports) == 1 {
		return fmt.Sprintf("[The export in the console](%s/console/exports/%s/%s)", c.PublicURL, tenants[0], url.PathEscape(exports[0].Key))
	}
	received := func(a, b *model.Export) int { return a.ReceivedAt.Compare(b.ReceivedAt) }
	query := url.Values{
		"since": {slices.MinFunc(exports, received).ReceivedAt.UTC().Format(time.RFC3339)},
		"until": {slices.MaxFunc(exports, received).ReceivedAt.UTC().Add(time.Second).Format(time.RFC3339)},
	}
	if len(tenants) == 1 {
		query.Set("tenant", tenants[0])
	}
	return fmt.Sprintf("[Exports of that time in the console](%s/console/exports?%s)", c.PublicURL, query.Encode())
}
