package delivery

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
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/internal/wait"
)

// commit stores what a step made of a delivery, and returns when the next step is due: as the step says, unless another
// node wrote the delivery meanwhile. Then d becomes what that node wrote; the attempt was made, and is stored as well.
func (a *Attempter) commit(ctx context.Context, e *model.Export, d *model.Delivery,
	next State) (State, error) {
	attempt := next.attempt
	d.UpdatedAt = a.Now()
	end := a.storing(ctx, e, d, attempt)
	stored, err := a.store(ctx, d, next)
	end(err)
	switch {
	case err != nil:
		return State{}, err
	case stored != d:
		*d = *stored
		return a.nextDue(d), nil
	case attempt != nil || d.Outcome.Final():
		metrics.Delivery(d.Tenant, d.Integration, d.Class())
	}
	if attempt != nil && attempt.Cause != "" {
		metrics.NotReceived(d.Tenant, d.Integration, attempt.Cause)
	}
	failpoint.Reach(failpoint.StepCommitted)
	switch {
	case attempt != nil && d.Outcome == model.Delivered:
		if c := a.InForce.Current(); c != nil && c.LogFailuresOnly {
			break
		}
		a.Log.Info("delivered", append(logFields(e, d, attempt),
			zap.Stringer("since_received", rounded(d.UpdatedAt.Sub(e.ReceivedAt))))...)
	case attempt != nil && d.Outcome == model.Retrying:
		a.Log.Info("delivery not received", append(logFields(e, d, attempt), zap.String("workflow", e.WorkflowID),
			zap.String("class", string(d.Fault)), zap.String("reason", attempt.Error),
			zap.Stringer("next_in", rounded(next.Due.Sub(d.UpdatedAt))))...)
	case (d.Outcome == model.Failed || d.Outcome == model.Expired) && e.ErasedAt.IsZero():
		a.Log.Error("delivery given up; it can be redelivered", tracing.Field(e.TraceID()), zap.String("tenant", d.Tenant),
			zap.String("integration", d.Integration), zap.Int64("export", d.ExportID), zap.Int("attempts", d.Attempts),
			zap.String("outcome", string(d.Outcome)), zap.String("class", string(d.Class())))
	}
	if next.stored != nil {
		next.stored()
	}
	return next, nil
}

// logFields returns an attempt as log fields; durations are strings with units.
func logFields(e *model.Export, d *model.Delivery, attempt *model.Attempt) []zap.Field {
	fields := []zap.Field{tracing.Field(e.TraceID()), zap.String("uuid", e.Key), zap.String("tenant", d.Tenant),
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

// rounded rounds a duration for the log.
func rounded(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// store writes a delivery with its attempt, if there is one, and returns the delivery as it then is in the store: d,
// unless another node wrote it since it was read.
func (a *Attempter) store(ctx context.Context, d *model.Delivery, next State) (stored *model.Delivery, err error) {
	write := func(ctx context.Context) error {
		key := "" // what is written beside the delivery may be anything
		if next.also == nil {
			key = fmt.Sprintf("delivery %d %d %s", d.ExportID, d.Round, d.Integration)
		}
		return a.Store.WriteOrdered(ctx, key, func(tx *store.Tx) (err error) {
			stored, err = storeStep(tx, d, next)
			return err
		})
	}
	if next.attempt == nil { // nothing was sent: the step is simply run again
		err = a.tryStore(ctx, write)
	} else {
		err = a.keep(ctx, d, write)
	}
	if err != nil { // the transaction may still run
		return nil, err
	}
	return stored, nil
}

// storeStep is store in a transaction.
func storeStep(tx *store.Tx, d *model.Delivery, next State) (stored *model.Delivery, err error) {
	stored = d
	if err := tx.UpsertDelivery(d); errors.Is(err, store.ErrStale) {
		if stored, err = tx.LockDelivery(d); err != nil {
			return nil, fmt.Errorf("reading a delivery that another node wrote: %w", err)
		}
		// Or we did, in a COMMIT whose answer was lost.
		if ours, err := isStored(tx, stored, next.attempt); err != nil || ours {
			if stored.UpdatedAt.Equal(d.UpdatedAt.Truncate(time.Microsecond)) {
				stored = d
			}
			return stored, err
		}
	} else if err != nil {
		return nil, fmt.Errorf("writing a delivery: %w", err)
	}
	if err := addAttempt(tx, stored, next.attempt); err != nil {
		return nil, fmt.Errorf("writing an attempt: %w", err)
	}
	if next.also != nil {
		return stored, next.also(tx)
	}
	return stored, nil
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
	d.Attempts, d.Status = attempt.Number, attempt.Status // another node made one at the same time
	return tx.UpdateAttempts(d)
}

// nextDue returns when the next step is due of a delivery that another node changed.
func (a *Attempter) nextDue(d *model.Delivery) State {
	if d.Outcome.Final() || d.Parked {
		return State{}
	}
	next := a.WaitFor(string(d.Class()), wait.Jittered(GateDelay))
	next.Due = wait.Later(next.Due, d.Due())
	return next
}
