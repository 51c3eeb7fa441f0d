package dispatch

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

// group makes a group of exports and stores its members. The sweep starts its workflow if this process does not come to
// it.
func (d *Dispatcher) group(ctx context.Context, c *config.Config, exports []*model.Export) (members []*model.Export, err error) {
	exports = slices.DeleteFunc(slices.Clone(exports), func(e *model.Export) bool {
		tenant, ok := c.Tenant(e.Tenant)
		if ok && len(e.Integrations) == 0 {
			e.Integrations = tenant.IntegrationNames()
		}
		return !ok // the sweep postpones it
	})
	if len(exports) == 0 {
		return nil, nil
	}
	err = d.write(ctx, func(tx *store.Tx) (err error) {
		members, err = tx.Group(exports, d.turn())
		return err
	})
	return members, err
}

// describe returns the summary and the priority of a workflow.
func describe(exports []*model.Export, tenants []string) (summary string, p temporal.Priority) {
	switch {
	case len(exports) == 1:
		return webhook.EventExport + " of " + tenants[0], workflows.PriorityOf(tenants[0], urgency(exports[0]))
	case len(tenants) == 1:
		return fmt.Sprintf("%d exports of %s", len(exports), tenants[0]), workflows.PriorityOf(tenants[0], workflows.Received)
	}
	return fmt.Sprintf("%d exports of %d tenants", len(exports), len(tenants)), workflows.PriorityOf("", workflows.Received)
}

// tenantsAndKeys returns the tenants of exports, each once, and the key of each.
func tenantsAndKeys(exports []*model.Export) (tenants, keys []string) {
	for _, e := range exports {
		keys = append(keys, e.Key)
		if !slices.Contains(tenants, e.Tenant) {
			tenants = append(tenants, e.Tenant)
		}
	}
	return tenants, keys
}

// fitting returns the first values of a list that fit into a search attribute.
func fitting(values []string) []string {
	bytes := 0
	for n, v := range values {
		if bytes += len(v) + len(`"",`); bytes > attributeBytes {
			return values[:n]
		}
	}
	return values
}
