package rounds

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/dispatch"
)

// Released is the result of ReleaseQuarantine.
type Released struct {
	Round    int
	Released []string // the integrations whose deliveries go on
}

// CountQuarantined updates the gauge of exports in quarantine.
func (r *Redeliverer) CountQuarantined(ctx context.Context) error {
	all, err := r.Store.CountQuarantined(ctx)
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	for tenant, c := range all {
		counts[tenant] = c.Count
	}
	metrics.Quarantined(counts)
	return nil
}

// EndQuarantine releases an export from quarantine: it is delivered as it came. Deliveries that are held are
// hurried, parked ones begin the next round. note writes beside it, in the transaction that releases. The error is a
// *RefusedError when the export is not in quarantine, or store.ErrNotFound.
func (r *Redeliverer) EndQuarantine(ctx context.Context, tenant, key string,
	note func(*store.Tx) error) (Released, error) {
	e, err := r.Store.ExportByKey(ctx, tenant, key)
	if err != nil {
		return Released{}, err
	}
	if !e.ErasedAt.IsZero() {
		return Released{}, errErased
	}
	deliveries, err := r.Store.ListDeliveries(ctx, e.ID)
	if err != nil {
		return Released{}, err
	}
	var parked, waiting []*model.Delivery
	res := Released{Released: []string{}}
	names := []string{}
	for _, d := range deliveries {
		switch {
		case d.Parked:
			parked, names = append(parked, d), append(names, d.Integration)
		case d.Outcome == model.Held && r.orphaned(ctx, e, d):
			parked, names = append(parked, d), append(names, d.Integration)
		case d.Outcome == model.Held:
			waiting = append(waiting, d)
		default:
			continue
		}
		res.Released = append(res.Released, d.Integration)
	}
	released := e
	// In one write, so that no delivery stays parked. TendHeld finds one that is parked meanwhile, or can't be hurried.
	err = r.Store.Write(ctx, func(tx *store.Tx) error {
		released = e
		ended, err := tx.ReleaseQuarantine(e.ID)
		if err != nil {
			return err
		}
		if !ended {
			return errNotQuarantined
		}
		if err := note(tx); err != nil {
			return err
		}
		if len(parked) == 0 {
			return nil
		}
		// A delivery that stayed in the round before would be delivered in this one, and once more with its release.
		released, err = dispatch.BeginRound(tx, e, names, parked, true, r.Now())
		return err
	})
	switch {
	case errors.Is(err, errNotQuarantined):
		return Released{}, &RefusedError{"this export is not in quarantine: there is nothing to release"}
	case errors.Is(err, dispatch.ErrMoved):
		return Released{}, errJustMoved
	case err != nil:
		return Released{}, fmt.Errorf("releasing an export from quarantine: %w", err)
	}
	r.Log.Info("an export was released from quarantine", zap.String("tenant", tenant), zap.Int64("export", e.ID))
	res.Round = released.Round
	if len(parked) > 0 {
		r.Offer(released)
	}
	for _, d := range waiting {
		if err := r.Hurry(ctx, e, d); err != nil && ctx.Err() == nil {
			r.Log.Debug("a released delivery could not be hurried; it is hurried again in a moment", zap.Error(err))
		}
	}
	return res, nil
}

// orphaned reports whether a held delivery has no workflow any more, though it was not parked. While Temporal does not
// answer that is not known: FindLost finds it later.
func (r *Redeliverer) orphaned(ctx context.Context, e *model.Export, d *model.Delivery) bool {
	status, _, err := r.Status(ctx, e, d.Round)
	return err == nil && status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && !e.DispatchedAt.IsZero()
}

var errNotQuarantined = errors.New("the export is not in quarantine any more")
