// Package export is what Temporal runs for exports: a workflow for one or for a group, and its activities, which fetch the
// documents and deliver to each integration of the tenant.
//
// The store is the truth, Temporal the engine: an activity reads a delivery, takes it one step further, commits it, and
// asks to be run again until the delivery is final. Retries add nothing to a workflow's history.
package export

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// The names under which the workflow and its activities are registered. Recorded histories hold them: they don't
// change.
const (
	WorkflowName       = "export"
	FetchDocumentsName = "fetch-documents"
	DeliverName        = "deliver"
	FirstName          = "first"
	HandBackName       = "hand-back"
)

// handsBack is the change since which a workflow hands back what it could not deliver.
const handsBack = "hand-back"

// InputVersion is the version of the inputs. One that changes what a field means, or needs another field, is the next. An
// input without a version is of the first.
const InputVersion = 1

// checkInput returns an error for an input that another version of the gateway made and this one does not know.
func checkInput(version int, exports []int64) error {
	switch {
	case version > InputVersion:
		return fmt.Errorf("its input has version %d, and this gateway knows version %d at most", version, InputVersion)
	case len(exports) == 0:
		return errors.New("its input names no exports: a version of the gateway made it that this one does not know")
	}
	return nil
}

// Input is the input of the workflow of exports: of one export in one round, or of a group in round 0. It holds the
// deadlines, so that a late start does not extend them.
type Input struct {
	Version       int           `json:"version,omitempty"`
	Exports       []int64       `json:"exports"` // IDs, in order
	Round         int           `json:"round,omitempty"`
	To            []string      `json:"to,omitempty"`         // integrations of a single export; those of a group are in the store
	Documents     bool          `json:"documents,omitempty"`  // there are some to fetch
	Wait          time.Duration `json:"wait,omitempty"`       // for them, at most, before the first delivery
	DocumentsTill time.Time     `json:"documentsTill"`        // the last end of a member
	DeliverTill   time.Time     `json:"deliverTill"`          // the last end of a member
	Attributes    bool          `json:"attributes,omitempty"` // the search attributes are registered
	Local         bool          `json:"local,omitempty"`      // the first run is a local activity; those of older inputs are none
}

// Part is the input of all activities.
type Part struct {
	Version int       `json:"version,omitempty"`
	Exports []int64   `json:"exports"`
	Round   int       `json:"round,omitempty"`
	To      []string  `json:"to,omitempty"`
	Began   time.Time `json:"began"`         // when the workflow did: documents are waited for since then
	Till    time.Time `json:"till,omitzero"` // end of the attempts of a single export
}

// safetyNet is how long after its own end Temporal gives an activity up, should that not have ended by itself.
const safetyNet = 5 * time.Minute

// Workflow is one round of an export, or round 0 of a group.
func Workflow(ctx workflow.Context, in Input) (Result, error) {
	if err := checkInput(in.Version, in.Exports); err != nil {
		panic(err) // its task is tried again, perhaps by a gateway that knows the version
	}
	part := Part{Version: InputVersion, Exports: in.Exports, Round: in.Round, To: in.To, Began: workflow.Now(ctx), Till: in.DeliverTill}
	var documents workflow.Future
	if in.Documents {
		options := activityOptions(ctx, FetchDocumentsName, workflows.DocumentsQueue, in.DocumentsTill)
		options.Summary = "fetch the documents of " + described(in)
		documents = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), FetchDocumentsName, part)
		if in.Wait > 0 {
			await(ctx, documents, in.Wait)
		}
	}
	var res Result
	first := First{}
	if in.Local && startsLocally(ctx) {
		first = runFirst(ctx, part)
		workflow.SetCurrentDetails(ctx, first.Waits)
	}
	if res.Deliveries = first.Deliveries; !first.Done {
		options := activityOptions(ctx, DeliverName, workflows.DeliverQueue, in.DeliverTill)
		options.Summary = "deliver " + described(in)
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), DeliverName, part).Get(ctx, &res.Deliveries)
		if res.Cut = err != nil; res.Cut {
			handBack(ctx, part)
		}
	}
	if documents != nil {
		// The only failure is that of the safety net. The deliveries have ended, and the store knows which documents
		// are missing.
		if err := documents.Get(ctx, &res.Documents); err != nil {
			workflow.GetLogger(ctx).Warn("fetching documents ended without a result")
		}
	}
	workflow.SetCurrentDetails(ctx, res.text())
	// A round that delivered everything has no outcome: writing one would cost every export an event and an update of
	// Temporal's list.
	if class := res.worst(); in.Attributes && class != model.ClassDelivered {
		if err := workflow.UpsertTypedSearchAttributes(ctx, workflows.AttributeOutcome.ValueSet(string(class))); err != nil {
			return res, err
		}
	}
	return res, nil
}

// described says which exports an input is of, for Temporal's UI.
func described(in Input) string {
	if len(in.To) == 0 {
		return fmt.Sprintf("%d exports", len(in.Exports))
	}
	return "an export to " + strings.Join(in.To, ", ")
}

// startsLocally reports whether the worker that began the workflow knows First. One of an earlier version, that runs beside
// this one, began with Deliver.
func startsLocally(ctx workflow.Context) bool {
	by := workflow.GetInfo(ctx).GetCurrentBuildID()
	return by == BuildID || by == "" // empty: in a test
}

// runFirst does the first run in the workflow's first task. The task has ten seconds: a longer run reports that it goes on,
// and one of a worker that died is done again by another.
func runFirst(ctx workflow.Context, part Part) (first First) {
	options := workflow.LocalActivityOptions{ScheduleToCloseTimeout: 2 * agendaRuns,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "first attempts"}
	local := workflow.WithLocalActivityOptions(ctx, options)
	if err := workflow.ExecuteLocalActivity(local, FirstName, part).Get(ctx, &first); err != nil {
		workflow.GetLogger(ctx).Warn("the first run ended without a result")
		return First{}
	}
	return first
}

// handBack has deliveries that Temporal gave up go on in another workflow. Where that fails as well, the gateway finds
// them once they are overdue.
func handBack(ctx workflow.Context, part Part) {
	if workflow.GetVersion(ctx, handsBack, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	options := activityOptions(ctx, HandBackName, workflows.DeliverQueue, workflow.Now(ctx).Add(EndedAge))
	options.Summary = "hand back to other workflows what Temporal gave up"
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), HandBackName, part).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("deliveries could not be handed back")
	}
}

// await waits for the documents, but no longer than limit.
func await(ctx workflow.Context, documents workflow.Future, limit time.Duration) {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.NewSelector(ctx).
		AddFuture(documents, func(workflow.Future) {}).
		AddFuture(workflow.NewTimerWithOptions(timed, limit, workflow.TimerOptions{Summary: "wait for the documents"}), func(workflow.Future) {}).
		Select(ctx)
}

// retry is for a worker that died or hung: its heartbeats end, and the activity runs elsewhere half a minute later.
// Errors of our own carry their delay (workflows.RetryAfter).
var retry = &temporal.RetryPolicy{InitialInterval: 30 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 0}

func activityOptions(ctx workflow.Context, id, queue string, end time.Time) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		ActivityID:             id,
		TaskQueue:              queue,
		ScheduleToCloseTimeout: max(0, end.Sub(workflow.Now(ctx))) + safetyNet,
		StartToCloseTimeout:    2 * agendaRuns,
		HeartbeatTimeout:       10 * time.Second,
		RetryPolicy:            retry,
	}
}
