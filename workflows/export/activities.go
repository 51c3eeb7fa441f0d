package export

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// Activities are the activities of the export workflow. They serve every configuration of the process, one after the
// other.
type Activities struct {
	Store    *store.DB
	Archive  *documents.Archive
	InForce  *config.InForce
	Capacity *Capacity
	Now      func() time.Time
	Log      *zap.Logger
	// IsLost reports whether Temporal has no workflow of a round. Nil: it is not asked.
	IsLost func(ctx context.Context, e *model.Export, round int) (bool, error)

	gates        gates
	documentNews documentNews
	unstored     unstored
}

// Register puts the workflow and its activities on the workers of the two task queues.
func (a *Activities) Register(deliver, fetch worker.Registry) {
	deliver.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	deliver.RegisterActivityWithOptions(a.Deliver, activity.RegisterOptions{Name: DeliverName})
	fetch.RegisterActivityWithOptions(a.FetchDocuments, activity.RegisterOptions{Name: FetchDocumentsName})
	deliver.RegisterWorkflowWithOptions(GroupWorkflow, workflow.RegisterOptions{Name: GroupWorkflowName})
	deliver.RegisterActivityWithOptions(a.DeliverGroup, activity.RegisterOptions{Name: DeliverGroupName})
	fetch.RegisterActivityWithOptions(a.FetchGroupDocuments, activity.RegisterOptions{Name: FetchGroupDocumentsName})
}

// FetchDocuments fetches the documents of an export that are missing, and asks to be run again until each is fetched or
// given up.
func (a *Activities) FetchDocuments(ctx context.Context, part Part) (FetchResult, error) {
	defer workflows.Beat(ctx)()
	e, err := a.Store.Export(ctx, part.Export)
	if err != nil {
		return FetchResult{}, a.storeAway(err)
	}
	progress, err := a.Archive.Fetch(ctx, e)
	switch {
	case errors.Is(err, store.ErrUnreadable): // the deliveries say so
		return FetchResult{GivenUp: e.Attachments}, nil
	case err != nil:
		return FetchResult{}, a.storeAway(err)
	}
	if progress.Missing > 0 {
		return FetchResult{}, workflows.RetryAfter("documents_missing", 0, progress.Wait)
	}
	return FetchResult{Fetched: progress.Fetched, GivenUp: progress.GivenUp}, nil
}

// Deliver takes one delivery one step further, and asks to be run again when the next step is due. It returns a result
// once the delivery is final, or parked because it was held for too long.
func (a *Activities) Deliver(ctx context.Context, part Part) (DeliverResult, error) {
	defer workflows.Beat(ctx)()
	d, next, err := a.deliverPart(ctx, part)
	switch {
	case err != nil:
		return DeliverResult{}, a.storeAway(err)
	case !next.due.IsZero():
		return DeliverResult{}, workflows.RetryAfter(next.class, next.status, next.due.Sub(a.Now()))
	}
	return DeliverResult{Integration: d.Integration, Class: d.Class(), Attempts: d.Attempts}, nil
}

func (a *Activities) deliverPart(ctx context.Context, part Part) (*model.Delivery, nextState, error) {
	if next := a.unstoredState(part); !next.due.IsZero() {
		return nil, next, nil
	}
	m, err := a.read(ctx, part)
	if err != nil {
		return nil, nextState{}, err
	}
	// Temporal waits before it runs an activity again, unless it never heard of the last attempt, because the worker
	// died or could not reach it. Whoever resets the activity in Temporal makes that run the first.
	if activity.GetInfo(ctx).Attempt > 1 {
		if next := a.planned(m.delivery); !next.due.IsZero() {
			return m.delivery, next, nil
		}
	}
	next, err := a.deliver(ctx, m, patience)
	return m.delivery, next, err
}

// storeAway is the error with which an activity waits for the store.
func (a *Activities) storeAway(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		// The database was restored from a backup that does not have it. The workflow stays open, so that export strays
		// lists what was lost, and goes on should a newer backup be restored.
		return workflows.RetryAfter("unknown_here", 0, workflows.Jittered(time.Minute))
	}
	a.Log.Warn("an activity could not use the store; it runs again", zap.Error(err))
	return workflows.RetryAfter(storeUnavailable, 0, workflows.Jittered(5*time.Second))
}
