package export

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// The names under which the workflow of a group and its activities are registered. Recorded histories hold them: they
// don't change.
const (
	GroupWorkflowName       = "exports"
	FetchGroupDocumentsName = "fetch-documents-of-group"
	DeliverGroupName        = "deliver-group"
)

// GroupInput is the input of a group's workflow: the members, of which each is in its round 0.
type GroupInput struct {
	Exports       []int64   `json:"exports"` // IDs, in order
	Documents     bool      `json:"documents,omitempty"`
	DocumentsTill time.Time `json:"documentsTill"` // the last end of a member
	DeliverTill   time.Time `json:"deliverTill"`   // the last end of a member
	Attributes    bool      `json:"attributes,omitempty"`
}

// GroupPart tells an activity which exports it is about.
type GroupPart struct {
	Exports []int64 `json:"exports"`
}

// GroupResult has the outcomes of a group.
type GroupResult struct {
	Deliveries []GroupDelivery `json:"deliveries,omitempty"`
	Cut        bool            `json:"cut,omitempty"` // Temporal gave them up: nothing is known here
	Documents  FetchResult     `json:"documents"`
}

// GroupDelivery is the outcome of a delivery of a member.
type GroupDelivery struct {
	Export      int64       `json:"export"`
	Integration string      `json:"integration"`
	Class       model.Class `json:"class"`
}

// GroupWorkflow is round 0 of several exports.
func GroupWorkflow(ctx workflow.Context, in GroupInput) (GroupResult, error) {
	var documents workflow.Future
	part := GroupPart{in.Exports}
	if in.Documents {
		documents = workflow.ExecuteActivity(groupOptions(ctx, FetchDocumentsName, workflows.DocumentsQueue,
			in.DocumentsTill), FetchGroupDocumentsName, part)
	}
	var res GroupResult
	if err := workflow.ExecuteActivity(groupOptions(ctx, DeliverName, workflows.DeliverQueue, in.DeliverTill),
		DeliverGroupName, part).Get(ctx, &res); err != nil {
		res.Cut = true
	}
	if documents != nil {
		if err := documents.Get(ctx, &res.Documents); err != nil {
			workflow.GetLogger(ctx).Warn("fetching documents ended without a result")
		}
	}
	if class := res.worst(); in.Attributes && class != model.ClassDelivered {
		if err := workflow.UpsertTypedSearchAttributes(ctx, workflows.AttributeOutcome.ValueSet(string(class))); err != nil {
			return res, err
		}
	}
	return res, nil
}

// delivered reports whether the result tells that a delivery of a member was delivered.
func (r *GroupResult) delivered(d *model.Delivery) bool {
	return slices.Contains(r.Deliveries, GroupDelivery{d.ExportID, d.Integration, model.ClassDelivered})
}

func (r *GroupResult) worst() model.Class {
	if r.Cut {
		return model.ClassOurFault
	}
	all := make([]DeliverResult, len(r.Deliveries))
	for n, d := range r.Deliveries {
		all[n].Class = d.Class
	}
	return worst(all)
}

func groupOptions(ctx workflow.Context, id, queue string, end time.Time) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             id,
		TaskQueue:              queue,
		ScheduleToCloseTimeout: untilEnd(ctx, end),
		StartToCloseTimeout:    2 * agendaRuns,
		HeartbeatTimeout:       20 * time.Second,
		RetryPolicy:            retry,
	})
}
