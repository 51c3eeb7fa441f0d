package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

// Pending is a delivery that is not final, as Temporal's UI shows it.
type Pending struct {
	Of          string    `json:"of"` // tenant/uuid
	Integration string    `json:"integration"`
	Attempts    int       `json:"attempts"`
	Status      int       `json:"status,omitempty"` // of the last answer
	Why         string    `json:"why"`              // in a fixed word
	Next        time.Time `json:"next,omitzero"`    // attempt, or look whether it may be made
}

const (
	// pendingMost is how many deliveries Temporal's UI is told of.
	pendingMost = 50
	// failureBytes is what they may take in the failure of an activity, of which Temporal keeps 4 KiB. Where they take more,
	// a heartbeat has all of them.
	failureBytes = 1 << 10
)

// pending returns the first of the deliveries that are not final, each a Pending.
func (r *delivering) pending() (all []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.open[:min(len(r.open), pendingMost)] {
		id := delivery.IDOf(d)
		p := Pending{Of: d.Tenant + "/" + r.members[id].Export.Key, Integration: d.Integration, Attempts: d.Attempts,
			Status: r.status[d.ID], Why: string(cmp.Or(d.Fault, d.Class())), Next: d.Due().UTC()}
		if next, stepped := r.waits[id]; stepped {
			p.Status, p.Why, p.Next = cmp.Or(next.Status, p.Status), next.Class, next.Due.UTC()
		}
		p.Next = p.Next.Truncate(time.Second)
		all = append(all, p)
	}
	return all
}

// fitting returns the first of some values that fit into a failure.
func fitting(all []any) []any {
	bytes := 0
	for n, waiting := range all {
		text, _ := json.Marshal(waiting) // of strings and numbers: it can't fail
		if bytes += len(text); bytes > failureBytes {
			return all[:n]
		}
	}
	return all
}

// why says in fixed words what the run waits for: of a single export what each delivery does, of a group how many wait
// for what.
func (r *delivering) why(ctx context.Context) (class, text string, err error) {
	var failed []int64
	for n, d := range r.open {
		next, known := r.waits[delivery.IDOf(d)]
		if !known && d.Outcome == model.Retrying || n < pendingMost && d.Attempts > 0 && next.Status == 0 {
			failed = append(failed, d.ID)
		}
	}
	statuses, err := r.a.Store.LastStatuses(ctx, failed)
	if err != nil {
		return "", "", err
	}
	r.mu.Lock()
	r.status = statuses
	r.mu.Unlock()
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
