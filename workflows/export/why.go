package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// wait notes at the gates that turned deliveries away which of them wait for their turn.
func (r *delivering) wait(ctx context.Context) {
	info := activity.GetInfo(ctx)
	waiting := map[*model.Integration][]int64{} // exports
	closed := map[*model.Integration]bool{}
	for _, d := range r.open { // by export
		next := r.waits[delivery.IDOf(d)]
		i, ok := r.integration(delivery.IDOf(d))
		if !ok || d.Outcome == model.Held || d.Outcome == model.Retrying && d.Due().After(r.a.Now()) {
			continue
		}
		waiting[i] = append(waiting[i], d.ExportID)
		closed[i] = closed[i] || next.Calls()
	}
	for i := range closed {
		if closed[i] {
			r.a.TurnedAway(i, &delivery.Waiter{Workflow: info.WorkflowExecution.ID, Exports: waiting[i],
				Wake: func(ctx context.Context) (bool, error) {
					woken, err := workflows.Wake(ctx, r.a.Client, info.Namespace, info.WorkflowExecution.ID, DeliverName)
					if errors.Is(err, workflows.ErrNotRunning) || errors.Is(err, workflows.ErrNoActivity) {
						return true, nil // there is nothing to wake any more
					}
					return woken, err
				}})
		}
	}
}

// why says in fixed words what the run waits for: of a single export what each delivery does, of a group how many wait
// for what.
func (r *delivering) why(ctx context.Context) (class, text string, err error) {
	var failed []int64
	for _, d := range r.open {
		if _, known := r.waits[delivery.IDOf(d)]; !known && d.Outcome == model.Retrying {
			failed = append(failed, d.ID)
		}
	}
	statuses, err := r.a.Store.LastStatuses(ctx, failed)
	if err != nil {
		return "", "", err
	}
	counts := map[string]int{}
	var each []string // what each delivery of a single export waits for
	for _, d := range r.open {
		next, known := r.waits[delivery.IDOf(d)]
		switch {
		case !known && d.Outcome == model.Retrying && d.Fault != "":
			next = delivery.State{Class: string(d.Fault), Status: statuses[d.ID]}
		case !known && r.a.Now().Before(r.documentsTill(r.known(delivery.IDOf(d)).Export, d)):
			next = delivery.State{Class: "documents_missing"}
		case !known:
			next = delivery.State{Class: string(d.Class())}
		}
		class, text = next.Class, workflows.Reason(next.Class, next.Status)
		counts[text]++
		each = append(each, d.Integration+": "+text)
	}
	all := len(r.open) + len(r.ended)
	switch {
	case all == 1:
		return class, text, nil
	case !r.many:
		return "several", strings.Join(each, ", "), nil
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[why], why))
	}
	return "several", fmt.Sprintf("%d of %d deliveries wait: %s", len(r.open), all, strings.Join(parts, ", ")), nil
}
