package gateway

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/verification"
)

// Enable verifies an integration that is disabled or not configured now; its held deliveries are released once it
// answers 200. It returns the state of the integration. For a configured one there is nothing to do.
//
// The error wraps store.ErrUnavailable, or is store.ErrNotFound when the integration was removed. Any other means that
// Temporal does not answer: the integration is verified once Temporal is back.
func (r *Runtime) Enable(ctx context.Context, i *model.Integration) (store.IntegrationStatus, error) {
	status, err := r.unlock(ctx, i)
	if err != nil || status.State == model.Configured {
		return status, err
	}
	if !i.Verify || i.Damaged {
		return status, nil
	}
	// A verification that waits for its next attempt makes it now; without one, one is started.
	if err := verification.Hurry(ctx, r.client, r.Settings.Namespace, i); err != nil {
		return status, err
	}
	return status, verification.Start(ctx, r.client, i, r.attributes.Load())
}

// unlock changes a disabled integration to one that is not configured, and returns its status.
func (r *Runtime) unlock(ctx context.Context, i *model.Integration) (store.IntegrationStatus, error) {
	for {
		before, err := r.Store().IntegrationStatus(ctx, i)
		switch {
		case err != nil:
			return before, err
		case before.State == model.Removed:
			return before, store.ErrNotFound
		case before.State != model.Disabled:
			return before, nil
		}
		status := store.IntegrationStatus{State: model.NotConfigured, Reason: "it was enabled; VERIFY was not sent since",
			UpdatedAt: r.now()}
		moved := false
		err = r.Store().Write(ctx,
			func(tx *store.Tx) (err error) { moved, err = tx.UpdateIntegrationStatus(i, before, status); return err })
		if err != nil {
			return status, fmt.Errorf("enabling an integration: %w", err)
		}
		if moved { // else it was changed or removed since it was read
			r.log.Info("integration enabled", zap.String("tenant", i.Tenant), zap.String("integration", i.Name))
			return status, nil
		}
	}
}
