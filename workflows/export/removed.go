package export

import (
	"context"
	"fmt"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// removedReason is why a delivery to an integration that was removed ends.
func removedReason(integration string) string {
	return fmt.Sprintf("integration %s was removed", integration)
}

// End ends the deliveries that are on their way to an integration that was removed. It may be called again at any time.
func (a *Again) End(ctx context.Context, tenant, integration string) error {
	for ended := int64(1); ended > 0; {
		err := a.Store.Write(ctx, func(tx *store.Tx) (err error) {
			ended, err = tx.EndDeliveries(tenant, integration, removedReason(integration), a.Now())
			return err
		})
		if err != nil {
			return fmt.Errorf("ending the deliveries to a removed integration: %w", err)
		}
	}
	return nil
}

func (a *Again) endRemoved(ctx context.Context, at hiring.Place) error {
	removed, err := a.Store.IntegrationRemoved(ctx, at.Tenant, at.Integration)
	if err != nil || !removed {
		return err
	}
	return a.End(ctx, at.Tenant, at.Integration)
}
