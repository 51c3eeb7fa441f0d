package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// Activities are the steps of the export workflow. They serve every configuration of the process, one after the other.
type Activities struct {
	Store   *store.DB
	Archive *documents.Archive
	InForce *config.InForce
	Room    *Room
	Now     func() time.Time
	Log     *zap.Logger

	gates gates
}

// Register puts the workflow and its activities on the workers of the two task queues.
func (a *Activities) Register(deliver, fetch worker.Registry) {
	deliver.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	deliver.RegisterActivityWithOptions(a.Deliver, activity.RegisterOptions{Name: DeliverName})
	fetch.RegisterActivityWithOptions(a.FetchDocuments, activity.RegisterOptions{Name: FetchDocumentsName})
}

// FetchDocuments fetches what is still missing of an export's documents, and asks to be run again until each is fetched or
// given up.
func (a *Activities) FetchDocuments(ctx context.Context, part Part) (FetchResult, error) {
	defer workflows.Beat(ctx)()
	e, err := a.Store.Export(ctx, part.Export)
	if err != nil {
		return FetchResult{}, a.storeAway(err)
	}
	progress, err := a.Archive.Fetch(ctx, e)
	if err != nil {
		return FetchResult{}, a.storeAway(err)
	}
	if progress.Missing > 0 {
		return FetchResult{}, workflows.RetryAfter("documents_missing", 0, progress.Wait)
	}
	return FetchResult{Fetched: progress.Fetched, GivenUp: progress.GivenUp}, nil
}

// Deliver takes one delivery one step further: the attempt that is due, unless a gate defers it. It returns a result once the
// delivery is final, or parked because it was held for too long.
func (a *Activities) Deliver(ctx context.Context, part Part) (DeliverResult, error) {
	defer workflows.Beat(ctx)()
	e, err := a.Store.Export(ctx, part.Export)
	if err != nil {
		return DeliverResult{}, a.storeAway(err)
	}
	d, err := a.delivery(ctx, e, part)
	if err != nil {
		return DeliverResult{}, a.storeAway(err)
	}
	if d.Till = part.Till; d.Till.IsZero() {
		d.Till = e.DeliverTill
	}
	if d.Outcome.Final() || d.Parked {
		return result(d), nil
	}
	if !e.ErasedAt.IsZero() { // while its workflow was being started
		return a.erased(ctx, d)
	}
	// What Temporal runs again it waits for, unless it never heard of the last attempt, since the worker died or could not reach it. Who
	// hurries a delivery resets its activity, and that run is the first. Where that attempt is still to come by this node's clock, it was
	// made on another, and the clocks differ: that Temporal waited is all that is known.
	now := a.Now()
	if early := d.NextAt.Sub(now); d.Outcome == hiring.Retrying && early > 0 && !now.Before(d.UpdatedAt) && activity.GetInfo(ctx).Attempt > 1 {
		return DeliverResult{}, workflows.RetryAfter(string(d.Fault), 0, early)
	}
	return a.step(ctx, e, d)
}

// delivery reads how far a delivery is, or begins it. One that was not tried yet takes the document mode from the rounds before: a
// redelivery has the same bytes.
func (a *Activities) delivery(ctx context.Context, e *hiring.Export, part Part) (*hiring.Delivery, error) {
	d, err := a.Store.Delivery(ctx, part.Export, part.Integration, part.Round)
	if errors.Is(err, store.ErrNotFound) {
		d, err = &hiring.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: part.Integration, Round: part.Round,
			Outcome: hiring.Pending, CreatedAt: a.Now()}, nil
		switch {
		case e.Origin == hiring.Triggered && part.Round == 0:
			d.CreatedAt = e.ReceivedAt // it is meant for this integration since then, however late it is dispatched
		case part.Round == e.Round && !e.DispatchedAt.IsZero():
			d.CreatedAt = e.DispatchedAt
		}
	}
	if err != nil || part.Round == 0 || d.Documents != "" {
		return d, err
	}
	all, err := a.Store.Deliveries(ctx, part.Export)
	d.Documents = triedIn(all, d.Integration)
	return d, err
}

// triedIn is the document mode in which an export was tried at an integration, in the rounds before; empty: it was not.
func triedIn(former []*hiring.Delivery, integration string) (mode hiring.DocumentMode) {
	for _, d := range former {
		if d.Integration == integration {
			mode = cmp.Or(d.Documents, mode)
		}
	}
	return mode
}

func result(d *hiring.Delivery) DeliverResult {
	return DeliverResult{Integration: d.Integration, Class: d.Class(), Attempts: d.Attempts}
}

// storeAway makes an activity wait for the database.
func (a *Activities) storeAway(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		// The export is in another database: of another gateway, which will be asked some time, or of one that is gone.
		return workflows.RetryAfter("unknown_here", 0, workflows.Jittered(time.Minute))
	}
	a.Log.Warn("an activity could not use the store; it runs again", zap.Error(err))
	return workflows.RetryAfter("store_unavailable", 0, workflows.Jittered(5*time.Second))
}

// write commits what came of a step, even when the activity is being cancelled: what was done must be known.
func (a *Activities) write(ctx context.Context, fn func(*store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return a.Store.Write(ctx, fn)
}

// put writes a delivery with its attempt, if there was one, and counts it. Another node may have written the delivery since it was
// read, while this one stood still: that stands, and comes back. The attempt was made all the same, and is kept.
func (a *Activities) put(ctx context.Context, d *hiring.Delivery, attempt *hiring.Attempt, also ...func(*store.Tx) error) (standing *hiring.Delivery, err error) {
	d.UpdatedAt = a.Now()
	err = a.write(ctx, func(tx *store.Tx) (err error) {
		standing = d
		if err := tx.PutDelivery(d); errors.Is(err, store.ErrStale) {
			standing, err = tx.StandingDelivery(d)
			if err != nil {
				return fmt.Errorf("reading a delivery that somebody else wrote: %w", err)
			}
		} else if err != nil {
			return fmt.Errorf("writing a delivery: %w", err)
		}
		if err := keep(tx, standing, attempt); err != nil {
			return fmt.Errorf("writing an attempt: %w", err)
		}
		for _, fn := range also {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && standing == d && (attempt != nil || d.Outcome.Final()) { // what is held without an attempt hold counts, once
		metrics.Delivery(d.Tenant, d.Integration, d.Class())
	}
	return standing, err
}

// keep adds an attempt, if there was one, to its delivery.
func keep(tx *store.Tx, d *hiring.Delivery, attempt *hiring.Attempt) error {
	if attempt == nil {
		return nil
	}
	attempt.DeliveryID = d.ID
	if err := tx.AddAttempt(attempt); err != nil || attempt.Number == d.Attempts {
		return err
	}
	d.Attempts = attempt.Number // another node made one at the same time
	return tx.CountAttempts(d.ID, d.Attempts)
}

// superseded is the result of a step whose delivery could not be written, or was written by another node meanwhile.
func (a *Activities) superseded(standing *hiring.Delivery, err error) (DeliverResult, error) {
	switch {
	case err != nil:
		return DeliverResult{}, a.storeAway(err)
	case standing.Outcome.Final() || standing.Parked:
		return result(standing), nil
	}
	return DeliverResult{}, workflows.RetryAfter(string(standing.Class()), 0, max(standing.NextAt.Sub(a.Now()), workflows.Jittered(gateDelay)))
}
