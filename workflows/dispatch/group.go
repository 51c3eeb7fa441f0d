package dispatch

import (
	"context"
	"slices"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
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
