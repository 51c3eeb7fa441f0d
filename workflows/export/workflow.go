// Package export delivers accepted exports: it starts a workflow for each, which fetches the documents and delivers to
// each integration of the tenant.
//
// The store is the truth, Temporal the engine: an activity reads a delivery, takes it one step further, commits it, and
// asks to be run again until the delivery is final. Retries add nothing to a workflow's history.
package export

import (
	"slices"
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
)

// Input is the input of one round of an export. It holds the deadlines, so that a late start does not extend them.
type Input struct {
	Tenant        string    `json:"tenant"`
	Export        int64     `json:"export"`
	Round         int       `json:"round"`
	Documents     bool      `json:"documents,omitempty"` // there are some to fetch
	DocumentsTill time.Time `json:"documentsTill"`
	DeliverTill   time.Time `json:"deliverTill"`
	To            []Target  `json:"to,omitempty"`
	Attributes    bool      `json:"attributes,omitempty"` // the search attributes are registered
}

// Target is an integration, and how long its delivery waits for the documents.
type Target struct {
	Integration string        `json:"integration"`
	Wait        time.Duration `json:"wait,omitempty"`
}

// Result is the result of a round.
type Result struct {
	Deliveries []DeliverResult `json:"deliveries,omitempty"`
	Documents  FetchResult     `json:"documents"`
}

// delivered reports whether the result says that a delivery was delivered.
func (r *Result) delivered(d *model.Delivery) bool {
	return slices.ContainsFunc(r.Deliveries, func(one DeliverResult) bool {
		return one.Integration == d.Integration && one.Class == model.ClassDelivered
	})
}

// DeliverResult is the result of a delivery.
type DeliverResult struct {
	Integration string      `json:"integration"`
	Class       model.Class `json:"class"`
	Attempts    int         `json:"attempts"`
}

// FetchResult counts the documents of an export by their final state.
type FetchResult struct {
	Fetched int `json:"fetched"`
	GivenUp int `json:"givenUp"`
}

// Part is the input of an activity: a part of the round.
type Part struct {
	Export      int64     `json:"export"`
	Round       int       `json:"round"`
	Integration string    `json:"integration,omitempty"`
	Till        time.Time `json:"till,omitzero"` // end of the round's attempts
}

// rehostWait is how long a rehosting delivery waits for the documents; then it sends our URLs without them.
const rehostWait = time.Minute

// safetyNet is how long after its own end Temporal gives an activity up, should that not have ended by itself.
const safetyNet = 5 * time.Minute

// Workflow is one round of an export.
func Workflow(ctx workflow.Context, in Input) (Result, error) {
	var documents workflow.Future
	if in.Documents {
		part := Part{Export: in.Export, Round: in.Round}
		documents = workflow.ExecuteActivity(fetchOptions(ctx, in), FetchDocumentsName, part)
	}
	res := Result{Deliveries: make([]DeliverResult, len(in.To))}
	group := workflow.NewWaitGroup(ctx)
	for n, to := range in.To {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			if documents != nil && to.Wait > 0 {
				await(ctx, documents, to.Wait)
			}
			res.Deliveries[n] = deliver(ctx, in, to)
		})
	}
	group.Wait(ctx)
	if documents != nil {
		// The only failure is that of the safety net. The deliveries have ended, and the store knows which documents
		// are missing.
		if err := documents.Get(ctx, &res.Documents); err != nil {
			workflow.GetLogger(ctx).Warn("fetching documents ended without a result")
		}
	}
	// A round that delivered everything has no outcome: writing one would cost every export an event and an update of
	// Temporal's list.
	if class := worst(res.Deliveries); in.Attributes && class != model.ClassDelivered {
		if err := workflow.UpsertTypedSearchAttributes(ctx, workflows.AttributeOutcome.ValueSet(string(class))); err != nil {
			return res, err
		}
	}
	return res, nil
}

func deliver(ctx workflow.Context, in Input, to Target) DeliverResult {
	res := DeliverResult{Integration: to.Integration}
	part := Part{Export: in.Export, Round: in.Round, Integration: to.Integration, Till: in.DeliverTill}
	if err := workflow.ExecuteActivity(deliverOptions(ctx, in, to), DeliverName, part).Get(ctx, &res); err != nil {
		res.Class = model.ClassOurFault
	}
	return res
}

// await waits for the documents, but no longer than limit.
func await(ctx workflow.Context, documents workflow.Future, limit time.Duration) {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.NewSelector(ctx).
		AddFuture(documents, func(workflow.Future) {}).
		AddFuture(workflow.NewTimer(timed, limit), func(workflow.Future) {}).
		Select(ctx)
}

// worstFirst are the classes that a person has to look at.
var worstFirst = []model.Class{
	model.ClassOurFault, model.ClassDataFault, model.ClassPartnerFault, model.ClassExpired, model.ClassHeld}

// worst returns the class that a person has to look at first.
func worst(all []DeliverResult) model.Class {
	for _, class := range worstFirst {
		for _, one := range all {
			if one.Class == class {
				return class
			}
		}
	}
	return model.ClassDelivered
}

// retry is for a worker that died or hung: its heartbeats end, and the activity runs elsewhere half a minute later.
// Errors of our own carry their delay (workflows.RetryAfter).
var retry = &temporal.RetryPolicy{InitialInterval: 30 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 0}

func fetchOptions(ctx workflow.Context, in Input) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             FetchDocumentsName,
		TaskQueue:              workflows.DocumentsQueue,
		ScheduleToCloseTimeout: untilEnd(ctx, in.DocumentsTill),
		StartToCloseTimeout:    10 * time.Minute,
		HeartbeatTimeout:       20 * time.Second,
		RetryPolicy:            retry,
	})
}

func deliverOptions(ctx workflow.Context, in Input, to Target) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             DeliverName + "/" + to.Integration,
		TaskQueue:              workflows.DeliverQueue,
		ScheduleToCloseTimeout: untilEnd(ctx, in.DeliverTill),
		StartToCloseTimeout:    45 * time.Second, // above the attempt's own 20 s
		HeartbeatTimeout:       10 * time.Second,
		RetryPolicy:            retry,
	})
}

func untilEnd(ctx workflow.Context, end time.Time) time.Duration {
	return max(0, end.Sub(workflow.Now(ctx))) + safetyNet
}
