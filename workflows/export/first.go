package export

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/failpoint"
)

const (
	// firstRuns is for how long the first run begins attempts. It ends once those are over.
	firstRuns = 5 * time.Second
	// firstAlone is for how long it makes none at integrations that are not prompt. Where it goes on for longer, it waits
	// for one that turns out not to be, and Deliver may not begin before it ends.
	firstAlone = time.Second
	// firstPatience is how long a delivery waits for its place at an integration.
	firstPatience = delivery.Patience(time.Second)
	// firstsAtOnce is how many first runs are under way on a node. Each has a slot of the worker's thousand for the tasks of
	// workflows: others have the rest.
	firstsAtOnce = 256
)

// BuildID is under which a worker runs the first run as First. Workflows that another worker began go on as they began.
const BuildID = "first-run"

// First is the result of the first run.
type First struct {
	Done       bool            `json:"done,omitempty"` // all deliveries are final, or parked; otherwise Deliver goes on
	Deliveries []DeliverResult `json:"deliveries,omitempty"`
	Waits      string          `json:"waits,omitempty"` // what Deliver goes on with, in fixed words and counters
}

// First is the first run of Deliver as a local activity, in the task that starts the workflow: that costs Temporal three
// transactions less, and the exports the wait for them. It makes the attempts at integrations that are prompt. What is not
// final then is left to Deliver, which finds it in the store.
func (a *Activities) First(ctx context.Context, part Part) (First, error) {
	if err := checkInput(part.Version, part.Exports); err != nil {
		return First{}, err
	}
	defer a.firsts.Add(-1)
	if a.firsts.Add(1) > firstsAtOnce || !a.Deferred().Due.IsZero() {
		return First{}, nil
	}
	leave, free := a.runs.enter(part)
	if !free { // Temporal took the run before this one for dead
		return First{}, nil
	}
	defer leave()
	r := a.delivering(part)
	r.first, r.patience, r.look = true, firstPatience, documentsLook
	if r.many {
		a.groups.Add(1)
		defer a.groups.Add(-1)
	}
	steps := r.agenda()
	steps.runs = firstRuns
	next, err := steps.run(ctx)
	if err != nil {
		return First{}, nil // Deliver finds out
	}
	if !next.IsZero() {
		_, text, err := r.why(ctx)
		if err != nil {
			return First{}, nil
		}
		return First{Waits: text}, nil
	}
	if r.many {
		failpoint.Reach(failpoint.GroupDelivered)
	}
	return First{Done: true, Deliveries: summarize(r.ended)}, nil
}
