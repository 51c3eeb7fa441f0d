package export

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// group makes a group of exports and stores its members. The sweep starts its workflow if this process stops before it
// does.
func (d *Dispatcher) group(ctx context.Context, c *config.Config, exports []*model.Export) (
	members []*model.Export, err error) {
	exports = slices.DeleteFunc(slices.Clone(exports), func(e *model.Export) bool {
		tenant, ok := c.Tenant(e.Tenant)
		if ok && len(e.Integrations) == 0 {
			for n := range tenant.Integrations {
				e.Integrations = append(e.Integrations, tenant.Integrations[n].Name)
			}
		}
		return !ok // the sweep postpones it
	})
	if len(exports) == 0 {
		return nil, nil
	}
	err = d.write(ctx, func(tx *store.Tx) (err error) {
		members, err = tx.Group(exports, d.Now())
		return err
	})
	return members, err
}

func groupInput(members []*model.Export, attributes bool) GroupInput {
	in := GroupInput{Attributes: attributes}
	for _, e := range members {
		in.Exports = append(in.Exports, e.ID)
		in.Documents = in.Documents || fetches(e)
		in.DocumentsTill, in.DeliverTill = later(in.DocumentsTill, e.DocumentsTill), later(in.DeliverTill, e.DeliverTill)
	}
	return in
}

// describe returns the summary and the priority of a group's workflow.
func describe(members []*model.Export, tenants []string) (summary string, p temporal.Priority) {
	of, fairness := tenants[0], tenants[0]
	if len(tenants) > 1 {
		of, fairness = fmt.Sprintf("%d tenants", len(tenants)), ""
	}
	return fmt.Sprintf("%d exports of %s", len(members), of), workflows.PriorityOf(fairness, workflows.Received)
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
