package dispatch

import (
	"context"
	"errors"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// brokenEndsWith is the reason with which a broken workflow is terminated.
const brokenEndsWith = "it failed again and again: its exports go on in other workflows"

// handOver has the exports of a workflow that can't go on go on in others, and ends it. Which ones a group has its input
// says; where that can't be read, each is found by itself, and the workflow ends with its time.
func (r *Reconciler) handOver(ctx context.Context, e *model.Export, round int) error {
	id, members := e.RoundWorkflowID(round), []*model.Export{e}
	if e.InGroup(round) {
		in, err := r.Dispatcher.readInput(ctx, id)
		if err != nil {
			return err
		}
		if len(in.Exports) > 0 {
			if members, err = r.Store.ExportsByID(ctx, in.Exports); err != nil {
				return err
			}
		}
	}
	for _, member := range members {
		if err := r.Leave(ctx, member, id); err != nil {
			return err
		}
	}
	r.Log.Error("a workflow failed again and again; its exports go on in others", zap.String("workflow", id),
		zap.Int("exports", len(members)))
	if e.InGroup(round) && len(members) == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := r.Client.TerminateWorkflow(ctx, id, "", brokenEndsWith)
	if errors.As(err, new(*serviceerror.NotFound)) { // it has ended meanwhile
		return nil
	}
	return err
}

// Leave moves the deliveries of an export that a workflow carries, and that are not final, into the next round.
func (r *Reconciler) Leave(ctx context.Context, e *model.Export, workflow string) error {
	if e.DispatchedAt.IsZero() {
		if e.WorkflowID != workflow {
			return nil
		}
		return r.Store.Write(ctx, func(tx *store.Tx) error { return tx.SkipRound(e) })
	}
	deliveries, err := r.Store.ListDeliveries(ctx, e.ID)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(deliveries), func(d *model.Delivery) bool {
		return d.Outcome.Final() || d.Parked || model.LatestDelivery(deliveries, d.Integration) != d ||
			e.RoundWorkflowID(d.Round) != workflow
	})
	if len(open) == 0 {
		return nil
	}
	return r.restart(ctx, e, open)
}

// restart moves deliveries whose workflow is gone into the next round. They keep their attempts and their end, and end
// there if that is over. What is held does not run out: with such a delivery the round has another 72 hours.
func (r *Reconciler) restart(ctx context.Context, e *model.Export, lost []*model.Delivery) error {
	names := make([]string, len(lost))
	held := false
	for n, d := range lost {
		names[n] = d.Integration
		held = held || d.Outcome == model.Held
	}
	next, err := r.Begin(ctx, e, names, lost, held, nil)
	if errors.Is(err, ErrMoved) || errors.Is(err, store.ErrErased) {
		return nil
	}
	if err != nil {
		return err
	}
	metrics.Dispatched("lost")
	r.Log.Warn("an export waited without a workflow; it goes on in another", zap.String("tenant", e.Tenant),
		zap.Int64("export", e.ID), zap.String("workflow", next.WorkflowID))
	return nil
}
