package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// commit writes what a step made of a delivery, with its attempt, if it made one, and answers when the next step is
// due: that is next, unless another node wrote the delivery meanwhile. also runs in the same transaction, and may run
// more than once.
func (a *Activities) commit(ctx context.Context, e *model.Export, d *model.Delivery, attempt *model.Attempt,
	next pause, also ...func(*store.Tx) error) (pause, error) {
	if written, err := a.put(ctx, d, attempt, also...); err != nil || !written {
		return a.standing(d), err
	}
	failpoint.Reach(failpoint.StepCommitted)
	switch {
	case attempt != nil && d.Outcome == model.Delivered:
		a.Log.Info("delivered", append(told(e, d, attempt),
			zap.Stringer("since_received", rounded(d.UpdatedAt.Sub(e.ReceivedAt))))...)
	case attempt != nil && d.Outcome == model.Retrying:
		a.Log.Info("delivery not received", append(told(e, d, attempt), zap.String("workflow", e.WorkflowID),
			zap.String("class", string(d.Fault)), zap.String("reason", attempt.Error),
			zap.Stringer("next_in", rounded(next.until.Sub(d.UpdatedAt))))...)
	case (d.Outcome == model.Failed || d.Outcome == model.Expired) && e.ErasedAt.IsZero():
		a.Log.Error("delivery given up; it can be redelivered", zap.String("tenant", d.Tenant),
			zap.String("integration", d.Integration), zap.Int64("export", d.ExportID), zap.Int("attempts", d.Attempts),
			zap.String("outcome", string(d.Outcome)), zap.String("class", string(d.Class())))
	}
	return next, nil
}

// told is what the log says of an attempt; durations with their units.
func told(e *model.Export, d *model.Delivery, attempt *model.Attempt) []zap.Field {
	fields := []zap.Field{zap.String("uuid", e.Key), zap.String("tenant", d.Tenant),
		zap.String("integration", d.Integration), zap.Int("attempt", d.Attempts), zap.Bool("manual", attempt.Manual),
		zap.Int("status", attempt.Status), zap.String("address", attempt.Address),
		zap.Stringer("took", rounded(attempt.Duration))}
	for _, phase := range []struct {
		name string
		took time.Duration
	}{{"dns", attempt.Phases.DNS}, {"connect", attempt.Phases.Connect}, {"tls", attempt.Phases.TLS},
		{"first_byte", attempt.Phases.FirstByte}} {
		if phase.took > 0 {
			fields = append(fields, zap.Stringer(phase.name, rounded(phase.took)))
		}
	}
	return fields
}

// rounded is a duration without what nobody reads.
func rounded(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// put writes a delivery with its attempt, if there is one, and counts it. Another node may have written the delivery
// since it was read, while this one stood still: then that stands, d becomes it, and put reports false. The attempt was
// made, and is kept.
func (a *Activities) put(ctx context.Context, d *model.Delivery, attempt *model.Attempt,
	also ...func(*store.Tx) error) (written bool, err error) {
	d.UpdatedAt = a.Now()
	standing := d
	write := func(ctx context.Context) error {
		return a.Store.Write(ctx, func(tx *store.Tx) (err error) {
			standing, err = writeStep(tx, d, attempt, also)
			return err
		})
	}
	if attempt == nil { // nothing was sent: the step is simply run again
		err = a.tryStore(ctx, write)
	} else {
		err = a.keep(ctx, d, write)
	}
	switch {
	case err != nil:
		return false, err
	case standing != d:
		*d = *standing
		return false, nil
	case attempt != nil || d.Outcome.Final(): // what is held without an attempt hold counts, once
		metrics.Delivery(d.Tenant, d.Integration, d.Class())
	}
	if attempt != nil && attempt.Cause != "" {
		metrics.NotReceived(d.Tenant, d.Integration, attempt.Cause)
	}
	return true, nil
}

// writeStep writes a delivery with its attempt, and answers the delivery as it then is in the store: d, unless another node
// wrote it meanwhile.
func writeStep(tx *store.Tx, d *model.Delivery, attempt *model.Attempt, also []func(*store.Tx) error) (
	standing *model.Delivery, err error) {
	standing = d
	if err := tx.UpsertDelivery(d); errors.Is(err, store.ErrStale) {
		if standing, err = tx.LockDelivery(d); err != nil {
			return nil, fmt.Errorf("reading a delivery that another node wrote: %w", err)
		}
		// Or we did, in a COMMIT whose answer was lost.
		if ours, err := isStored(tx, standing, attempt); err != nil || ours {
			if standing.UpdatedAt.Equal(d.UpdatedAt.Truncate(time.Microsecond)) {
				standing = d
			}
			return standing, err
		}
	} else if err != nil {
		return nil, fmt.Errorf("writing a delivery: %w", err)
	}
	if err := addAttempt(tx, standing, attempt); err != nil {
		return nil, fmt.Errorf("writing an attempt: %w", err)
	}
	for _, fn := range also {
		if err := fn(tx); err != nil {
			return nil, err
		}
	}
	return standing, nil
}

// isStored reports whether an attempt, if there is one, is stored already.
func isStored(tx *store.Tx, d *model.Delivery, attempt *model.Attempt) (bool, error) {
	if attempt == nil {
		return false, nil
	}
	return tx.HasAttempt(d.ID, attempt.StartedAt)
}

// addAttempt adds an attempt, if there is one, to its delivery.
func addAttempt(tx *store.Tx, d *model.Delivery, attempt *model.Attempt) error {
	if attempt == nil {
		return nil
	}
	attempt.DeliveryID = d.ID
	tx.CountAttempt(model.Place{Tenant: d.Tenant, Integration: d.Integration}, d.ExportID, attempt)
	if err := tx.InsertAttempt(attempt); err != nil || attempt.Number == d.Attempts {
		return err
	}
	d.Attempts = attempt.Number // another node made one at the same time
	return tx.UpdateAttempts(d.ID, d.Attempts)
}

// standing is when the next step of a delivery is due that another node wrote.
func (a *Activities) standing(d *model.Delivery) pause {
	if d.Outcome.Final() || d.Parked {
		return pause{}
	}
	next := a.pauseFor(string(d.Class()), workflows.Jittered(gateDelay))
	if d.NextAt.After(next.until) {
		next.until = d.NextAt
	}
	return next
}
