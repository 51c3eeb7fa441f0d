package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
)

const (
	lostEvery = 20 * time.Second
	// brokenAge is export.EndedAge while workflows fail on this node: then that is likely.
	brokenAge = time.Minute
	lostPage  = 200
	// Twenty workflows a second, as many as rescue takes: an open breaker makes many deliveries overdue, and none of them
	// is lost.
	lostPause = 50 * time.Millisecond
	// lostWithin is how far back the first look goes: a gateway may have been down for longer than a delivery has.
	lostWithin = 30 * 24 * time.Hour
)

// Reconciler compares the store with Temporal, in both directions: it finds exports that lost their workflow, and workflows
// that lost their exports.
type Reconciler struct {
	*Dispatcher
	Faults *workflows.Faults // of this node

	orphans      atomic.Int64 // that TellOrphanWorkflows has told of
	orphansEnded atomic.Bool  // since the loop looked
	looked       time.Time    // FindLost has found everything that was due then; zero: it has not looked yet
}

// Loops compare the store with Temporal again and again.
func (r *Reconciler) Loops() []loop.Loop { return []loop.Loop{r.lostLoop(), r.orphanLoop()} }

// lostLoop compares the store with Temporal every 20 s: Temporal may be given an empty database, or an old one, and the
// gateway may be down when a workflow ends. An export of which a delivery waits, and that has no workflow any more, gets another.
func (r *Reconciler) lostLoop() loop.Loop {
	return loop.Loop{Name: "lost", Every: lostEvery, Away: r.Away, Round: r.FindLost,
		Failed: "deliveries could not be compared with Temporal; they are compared again"}
}

// FindLost looks once at each export that has an overdue delivery, or overdue documents. It must not run twice at a
// time.
func (r *Reconciler) FindLost(ctx context.Context) error {
	var fetches errgroup.Group
	fetches.SetLimit(rescueAtOnce)
	defer fetches.Wait()
	due, late := r.Now().Add(-export.UnknownAge), r.Now().Add(-export.EndedAge)
	if len(r.Faults.Lately(time.Now())) > 0 {
		late = r.Now().Add(-brokenAge)
	}
	look := func(ids []int64) error {
		for page := range slices.Chunk(ids, store.MaxPage) {
			others, err := r.redispatchLost(ctx, page, due)
			if err != nil {
				return err
			}
			for _, id := range others {
				loop.Alive(ctx)
				if !wait.For(ctx, lostPause) {
					return ctx.Err()
				}
				if err := r.find(ctx, id, late, &fetches); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, outcome := range []model.Outcome{model.Pending, model.Retrying, model.Held} {
		for after := int64(0); ; {
			ids, err := r.Store.ListOverdue(ctx, outcome, due, delivery.HoldFor, after, lostPage)
			if err != nil {
				return err
			}
			if err := look(ids); err != nil {
				return err
			}
			if len(ids) < lostPage {
				break
			}
			after = ids[len(ids)-1]
		}
	}
	// Exports without a delivery are found by their age. Whatever was due at the last look, or had ended before it, was
	// found then.
	from := r.looked.Add(-model.DeliveryWindow)
	if first := due.Add(-lostWithin); from.Before(first) {
		from = first
	}
	for after := model.FirstID(from); after != 0; {
		ids, next, err := r.Store.ListUnfinished(ctx, after, due)
		if err != nil {
			return err
		}
		if err := look(ids); err != nil {
			return err
		}
		after = next
		wait.For(ctx, lostPause)
	}
	if ctx.Err() == nil {
		r.looked = late
	}
	return ctx.Err()
}

// redispatchLost has the exports of a page whose first round lost its workflow wait for another, which the sweep starts
// for many of them together. It asks Temporal once for each workflow. It returns those of the page that find has to look
// at: whose workflow has ended, that lack documents only, or that have a held delivery, or one of a later round.
func (r *Reconciler) redispatchLost(ctx context.Context, page []int64, due time.Time) (others []int64, err error) {
	exports, err := r.Store.ExportsByID(ctx, page)
	if err != nil {
		return nil, err
	}
	deliveries, err := r.Store.ListDeliveriesOf(ctx, page)
	if err != nil {
		return nil, err
	}
	held := func(d *model.Delivery) bool { return d.Outcome == model.Held }
	asked := map[string]enums.WorkflowExecutionStatus{}
	var lost []*model.Export
	for _, e := range exports {
		if e.DispatchedAt.IsZero() || !e.ErasedAt.IsZero() {
			continue
		}
		if e.Round > 0 || slices.ContainsFunc(deliveries[e.ID], held) {
			others = append(others, e.ID)
			continue
		}
		id := e.RoundWorkflowID(0)
		status, known := asked[id]
		if !known {
			broken := false
			if status, broken, err = r.Status(ctx, e, 0); err != nil {
				return nil, err
			}
			if broken {
				status = isBroken
			}
			asked[id] = status
			// of what is lost there may be a million, and Temporal need not be spared
			if status != enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED && !wait.For(ctx, lostPause) {
				return nil, ctx.Err()
			}
		}
		switch status {
		case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		case enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
			lost = append(lost, e)
		default:
			others = append(others, e.ID)
		}
	}
	left, err := r.redispatch(ctx, lost, due)
	return append(others, left...), err
}

// redispatch has exports whose workflow is gone, and was started before a time, wait for another. It returns those of
// which nothing is undelivered, or whose workflow was started since.
func (r *Reconciler) redispatch(ctx context.Context, lost []*model.Export, due time.Time) (left []int64, err error) {
	if len(lost) == 0 {
		return nil, nil
	}
	err = r.Store.Write(ctx, func(tx *store.Tx) (err error) {
		left, err = tx.Redispatch(lost, due)
		return err
	})
	if n := len(lost) - len(left); err == nil && n > 0 {
		metrics.DispatchedGroup("lost", n)
		r.Log.Warn("exports waited without a workflow; they go on in others", zap.Int("exports", n))
	}
	return left, err
}

// find asks Temporal for the workflows of an export that have not ended according to the store. late is export.EndedAge ago.
func (r *Reconciler) find(ctx context.Context, id int64, late time.Time, fetches *errgroup.Group) error {
	e, err := r.Store.Export(ctx, id)
	if err != nil {
		return err
	}
	if e.DispatchedAt.IsZero() || !e.ErasedAt.IsZero() { // its next round is about to start, or none will
		return nil
	}
	deliveries, err := r.Store.ListDeliveries(ctx, id)
	if err != nil {
		return err
	}
	if len(e.Missing(deliveries)) > 0 { // they are overdue from then on
		return r.Store.Write(ctx, func(tx *store.Tx) error { return tx.CompleteRound(e) })
	}
	var lost, ended []*model.Delivery
	for _, d := range deliveries {
		if d.Outcome.Final() || d.Parked || model.LatestDelivery(deliveries, d.Integration) != d {
			continue
		}
		switch status, broken, err := r.Status(ctx, e, d.Round); {
		case err != nil:
			return err
		case broken:
			return r.handOver(ctx, e, d.Round)
		case status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		case status == enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
			lost = append(lost, d)
		case overdueSince(e, d).After(late):
		case status == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
			// A person did that: another round would be against their will.
			d.Fail(model.ClassOurFault, "its workflow was terminated or cancelled in Temporal; it can be redelivered")
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
	if e.Origin != model.Received || e.Attachments == 0 {
		return nil
	}
	documents, err := r.Store.ListDocuments(ctx, id)
	fetching := func(d *model.Document) bool { return d.State == model.Fetching }
	if err != nil || len(documents) >= e.Attachments && !slices.ContainsFunc(documents, fetching) {
		return err
	}
	status, _, err := r.Status(ctx, e, e.Round)
	if err == nil && status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING { // Fetch gives up what has run out
		fetches.Go(func() error { r.Dispatcher.fetch(ctx, e); return nil })
	}
	return err
}

// isBroken stands for the status of a workflow that runs, and can't go on.
const isBroken enums.WorkflowExecutionStatus = -1

// overdueSince returns when something was to happen to a delivery, as Store.ListOverdue has it.
func overdueSince(e *model.Export, d *model.Delivery) time.Time {
	switch {
	case d.Outcome == model.Retrying && !d.AskedAt.IsZero() && d.AskedAt.Before(d.NextAt):
		return d.AskedAt
	case !d.NextAt.IsZero():
		return d.NextAt
	case !d.HeldSince.IsZero():
		return d.HeldSince.Add(delivery.HoldFor)
	}
	return wait.Later(d.CreatedAt, e.DispatchedAt)
}

// IsLost reports whether Temporal has no workflow of a round: it was emptied, or an older backup of it was restored.
func (r *Reconciler) IsLost(ctx context.Context, e *model.Export, round int) (bool, error) {
	status, _, err := r.Status(ctx, e, round)
	return err == nil && status == enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, err
}

// delivered reports whether a completed workflow delivered, by its result. The store does not know it if it was
// restored from a backup. The error is that Temporal did not answer, or that the gateway stops: another round would
// then deliver twice.
func (r *Reconciler) delivered(ctx context.Context, e *model.Export, d *model.Delivery) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var result export.Result
	err := r.Client.GetWorkflow(ctx, e.RoundWorkflowID(d.Round), "").Get(ctx, &result)
	switch {
	case err == nil:
	case ctx.Err() != nil, workflows.Unanswered(err):
		return false, fmt.Errorf("reading what a workflow delivered: %w", err)
	default: // it is not a gateway's, or gone
		return false, nil
	}
	return result.Delivered(e, d), nil
}

// conclude writes the end of a delivery that Temporal knows and the store does not.
func (r *Reconciler) conclude(ctx context.Context, d *model.Delivery) error {
	d.UpdatedAt = r.Now()
	err := r.Store.Write(ctx, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
	if errors.Is(err, store.ErrStale) { // it was written meanwhile, and goes on
		return nil
	}
	if err != nil {
		return fmt.Errorf("concluding a delivery: %w", err)
	}
	metrics.Delivery(d.Tenant, d.Integration, d.Class())
	r.Log.Warn("a delivery had ended in Temporal, and not in the store", zap.String("tenant", d.Tenant),
		zap.String("integration", d.Integration), zap.Int64("export", d.ExportID),
		zap.String("outcome", string(d.Outcome)), zap.String("reason", d.Reason))
	return nil
}
