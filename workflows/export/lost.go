package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// lostAge is how long a delivery is overdue before Temporal is asked whether it still has its workflow.
	lostAge   = 10 * time.Minute
	lostEvery = 20 * time.Second
	lostPage  = 200
	// Twenty questions a second, as many as there are rescues: a breaker that is open makes many deliveries overdue, and none of
	// them is lost.
	lostPause = 50 * time.Millisecond
	// lostWithin is how far back the first look goes: a gateway may have been down for longer than a delivery has.
	lostWithin = 30 * 24 * time.Hour
)

// Watch compares the store with Temporal, over and over: Temporal may be given an empty database, or an old one, and the gateway may
// be down when a workflow ends. What waits and has no workflow any more begins another round.
func (r *Redeliverer) Watch(ctx context.Context) {
	for wait.For(ctx, lostEvery) {
		if r.Dispatcher.InForce.Current() == nil || r.Dispatcher.away.Load() {
			continue
		}
		if err := r.FindLost(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("deliveries could not be compared with Temporal; they are compared again", zap.Error(err))
		}
	}
}

// FindLost looks once at each export that has a delivery, or documents, for which something should have happened by now. Nobody else
// may be looking.
func (r *Redeliverer) FindLost(ctx context.Context) error {
	var fetching errgroup.Group
	fetching.SetLimit(rescueAtOnce)
	defer fetching.Wait()
	due := r.Now().Add(-lostAge)
	look := func(ids []int64) error {
		for _, id := range ids {
			if !wait.For(ctx, lostPause) {
				return ctx.Err()
			}
			if err := r.find(ctx, id, &fetching); err != nil {
				return err
			}
		}
		return nil
	}
	for _, outcome := range []hiring.Outcome{hiring.Pending, hiring.Retrying, hiring.Held} {
		for behind := int64(0); ; {
			ids, err := r.Store.Overdue(ctx, outcome, due, holdFor, behind, lostPage)
			if err != nil {
				return err
			}
			if err := look(ids); err != nil {
				return err
			}
			if len(ids) < lostPage {
				break
			}
			behind = ids[len(ids)-1]
		}
	}
	// What has no delivery yet is found by its age. What was due at the last look was found then, and what had ended before it as well.
	from := r.looked.Add(-hiring.DeliveryWindow)
	if first := due.Add(-lostWithin); from.Before(first) {
		from = first
	}
	for behind := hiring.FirstID(from); behind != 0; {
		ids, next, err := r.Store.Unfinished(ctx, behind, due)
		if err != nil {
			return err
		}
		if err := look(ids); err != nil {
			return err
		}
		behind = next
		wait.For(ctx, lostPause)
	}
	if ctx.Err() == nil {
		r.looked = due
	}
	return ctx.Err()
}

// find asks Temporal for the workflows of an export that are not through by what the store says.
func (r *Redeliverer) find(ctx context.Context, id int64, fetching *errgroup.Group) error {
	e, err := r.Store.Export(ctx, id)
	if err != nil {
		return err
	}
	if e.DispatchedAt.IsZero() || !e.ErasedAt.IsZero() { // its next round is about to start, or none will
		return nil
	}
	deliveries, err := r.Store.Deliveries(ctx, id)
	if err != nil {
		return err
	}
	deliveries = append(deliveries, e.Pending(deliveries)...)
	var lost, ended []*hiring.Delivery
	for _, d := range deliveries {
		if d.Outcome.Final() || d.Parked || latest(deliveries, d.Integration) != d {
			continue
		}
		switch status, err := r.status(ctx, e, d.Round); {
		case err != nil:
			return err
		case status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		case status == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
			// Somebody did that: to begin anew would be against their will.
			d.Fail(hiring.ClassOurFault, "its workflow was terminated or cancelled in Temporal; it can be redelivered")
			ended = append(ended, d)
		case status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
			delivered, err := r.delivered(ctx, e, d)
			if err != nil {
				return err
			}
			if delivered {
				d.Deliver()
				ended = append(ended, d)
			} else {
				lost = append(lost, d)
			}
		default:
			lost = append(lost, d)
		}
	}
	for _, d := range ended {
		if err := r.conclude(ctx, d); err != nil {
			return err
		}
	}
	if len(lost) > 0 { // its documents are fetched again as well
		return r.restart(ctx, e, lost)
	}
	if e.Origin != hiring.Received || e.Attachments == 0 {
		return nil
	}
	documents, err := r.Store.Documents(ctx, id)
	if err != nil || len(documents) >= e.Attachments && !slices.ContainsFunc(documents, func(d *hiring.Document) bool { return d.State == hiring.Fetching }) {
		return err
	}
	status, err := r.status(ctx, e, e.Round)
	if err == nil && status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING { // what has run out is given up
		fetching.Go(func() error { r.Dispatcher.fetch(ctx, e); return nil })
	}
	return err
}

// status is what Temporal knows of a round, unspecified when it knows nothing of it.
func (r *Redeliverer) status(ctx context.Context, e *hiring.Export, round int) (enums.WorkflowExecutionStatus, error) {
	return workflows.Status(ctx, r.Client, r.Namespace, hiring.WorkflowID(e.Tenant, e.Key, round))
}

// restart moves deliveries whose workflow is gone into the next round. They keep their attempts, and their end; if that is over, they
// end in it.
func (r *Redeliverer) restart(ctx context.Context, e *hiring.Export, lost []*hiring.Delivery) error {
	names := make([]string, len(lost))
	held := false // does not run out
	for n, d := range lost {
		names[n] = d.Integration
		held = held || d.Outcome == hiring.Held
	}
	next, err := r.begin(ctx, e, names, lost, held, nil)
	if errors.Is(err, errMoved) || errors.Is(err, store.ErrErased) {
		return nil
	}
	if err != nil {
		return err
	}
	metrics.Dispatched("lost")
	r.Log.Warn("an export waited without a workflow; it goes on in another", zap.String("tenant", e.Tenant), zap.Int64("export", e.ID), zap.String("workflow", next.WorkflowID))
	return nil
}

// delivered tells whether a completed workflow says that it delivered. The store does not know it when it was restored from a backup. The
// error is that Temporal did not answer, or the process ends: to begin anew then would deliver twice.
func (r *Redeliverer) delivered(ctx context.Context, e *hiring.Export, d *hiring.Delivery) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var result Result
	err := r.Client.GetWorkflow(ctx, hiring.WorkflowID(e.Tenant, e.Key, d.Round), "").Get(ctx, &result)
	switch {
	case err == nil:
	case ctx.Err() != nil, workflows.Unanswered(err):
		return false, fmt.Errorf("reading what a workflow delivered: %w", err)
	default: // it is somebody else's, or gone
		return false, nil
	}
	said := func(res DeliverResult) bool {
		return res.Integration == d.Integration && res.Class == hiring.ClassDelivered
	}
	return slices.ContainsFunc(result.Deliveries, said), nil
}

// conclude writes what Temporal knows of a delivery, and the store did not.
func (r *Redeliverer) conclude(ctx context.Context, d *hiring.Delivery) error {
	d.UpdatedAt = r.Now()
	err := r.Store.Write(ctx, func(tx *store.Tx) error { return tx.PutDelivery(d) })
	if errors.Is(err, store.ErrStale) { // it goes on
		return nil
	}
	if err != nil {
		return fmt.Errorf("concluding a delivery: %w", err)
	}
	metrics.Delivery(d.Tenant, d.Integration, d.Class())
	r.Log.Warn("a delivery had ended in Temporal, and not in the store", zap.String("tenant", d.Tenant), zap.String("integration", d.Integration),
		zap.Int64("export", d.ExportID), zap.String("outcome", string(d.Outcome)), zap.String("reason", d.Reason))
	return nil
}
