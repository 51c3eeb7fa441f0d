package rounds

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
)

// Releaser has go on what waits for something that has happened: an integration was configured or removed, takes exports
// again, or somebody asked for what waits.
type Releaser struct{ *dispatch.Dispatcher }

// Release releases the held deliveries of an integration, now that it is configured: those whose workflow still waits
// are hurried, those whose workflow ended, or is gone, begin the next round.
func (r *Releaser) Release(ctx context.Context, i *model.Integration) error {
	const page = 200
	hurried := map[string]error{} // of workflows, each with one activity
	for after := int64(0); ; {
		held, err := r.Store.ListHeldDeliveries(ctx, i.Tenant, i.Name, after, page)
		if err != nil {
			return fmt.Errorf("reading held deliveries: %w", err)
		}
		for _, d := range held {
			after = d.ExportID
			if err := r.release(ctx, d, hurried); err != nil {
				return err
			}
		}
		if len(held) < page {
			return nil
		}
	}
}

func (r *Releaser) release(ctx context.Context, d *model.Delivery, hurried map[string]error) error {
	e, err := r.Store.Export(ctx, d.ExportID)
	if err != nil {
		return err
	}
	if d.Round == e.Round && e.DispatchedAt.IsZero() { // its round is about to start
		return nil
	}
	// Read it again, since a page takes its time: it may be released by now, and wait for its next attempt.
	d, err = r.Store.Delivery(ctx, d.ExportID, d.Integration, d.Round)
	switch {
	case errors.Is(err, store.ErrNotFound): // it was moved into another round
		return nil
	case err != nil || d.Outcome != model.Held:
		return err
	}
	if !d.Parked {
		key := e.RoundWorkflowID(d.Round)
		err, done := hurried[key]
		if !done {
			err = r.Hurry(ctx, e, d)
			hurried[key] = err
		}
		if workflows.Unanswered(err) {
			return err // it would not answer for the others either
		}
		if !errors.Is(err, workflows.ErrNotRunning) || e.DispatchedAt.IsZero() {
			if err != nil && ctx.Err() == nil {
				r.Log.Debug("a held delivery could not be hurried; it is hurried again in a moment", zap.Error(err))
			}
			return ctx.Err()
		}
	}
	_, err = r.Begin(ctx, e, []string{d.Integration}, []*model.Delivery{d}, true, nil)
	if err == nil || errors.Is(err, dispatch.ErrMoved) || errors.Is(err, store.ErrErased) {
		return nil
	}
	return fmt.Errorf("releasing a held delivery: %w", err)
}

// TendHeld releases the deliveries that are held for integrations that are configured by now, and ends those for
// integrations that were removed. It finds what an earlier release or removal did not get to, and what no release was
// for: after a change of the configuration.
func (r *Releaser) TendHeld(ctx context.Context) error {
	held, err := r.Store.ListHeldPlaces(ctx)
	if err != nil {
		return err
	}
	c := r.InForce.Current()
	if c == nil {
		return nil
	}
	for _, at := range held {
		if i, ok := c.Integration(at.Tenant, at.Integration); ok {
			err = r.ReleaseOpen(ctx, i)
		} else {
			err = r.endRemoved(ctx, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReleaseOpen is Release for an integration that may not be configured: nothing is released then.
func (r *Releaser) ReleaseOpen(ctx context.Context, i *model.Integration) error {
	status, err := r.Store.IntegrationStatus(ctx, i)
	if err != nil || !status.Deliverable(i) {
		return err
	}
	return r.Release(ctx, i)
}

// End ends the deliveries to an integration that was removed. It may be called again at any time.
func (r *Releaser) End(ctx context.Context, tenant, integration string) error {
	for ended := int64(1); ended > 0; {
		err := r.Store.Write(ctx, func(tx *store.Tx) (err error) {
			ended, err = tx.FailDeliveries(tenant, integration, delivery.RemovedReason(integration), r.Now())
			return err
		})
		if err != nil {
			return fmt.Errorf("ending the deliveries to a removed integration: %w", err)
		}
	}
	return nil
}

func (r *Releaser) endRemoved(ctx context.Context, at model.Place) error {
	removed, err := r.Store.IsIntegrationRemoved(ctx, at.Tenant, at.Integration)
	if err != nil || !removed {
		return err
	}
	return r.End(ctx, at.Tenant, at.Integration)
}
