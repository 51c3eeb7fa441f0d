package export

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
)

// Activities are the activities of the export workflow. They serve every configuration of the process, one after the
// other.
type Activities struct {
	*delivery.Attempter
	Client client.Client
	// IsLost reports whether Temporal has no workflow of a round. Nil: it is not asked.
	IsLost func(ctx context.Context, e *model.Export, round int) (bool, error)
	// Undispatched says why an export waits whose workflow is not started. Nil: it is not asked.
	Undispatched func(*model.Export, *config.Config) string
	// Leave moves what a workflow has left of an export into the next round.
	Leave func(ctx context.Context, e *model.Export, workflow string) error

	groups       atomic.Int64 // that are being delivered
	firsts       atomic.Int64 // first runs under way
	documentNews documentNews
	runs         runs
}

// Register puts the workflow and its activities on the workers of the two task queues.
func (a *Activities) Register(deliver, fetch worker.Registry) {
	deliver.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	deliver.RegisterActivityWithOptions(a.Deliver, activity.RegisterOptions{Name: DeliverName})
	deliver.RegisterActivityWithOptions(a.First, activity.RegisterOptions{Name: FirstName})
	deliver.RegisterActivityWithOptions(a.HandBack, activity.RegisterOptions{Name: HandBackName})
	fetch.RegisterActivityWithOptions(a.FetchDocuments, activity.RegisterOptions{Name: FetchDocumentsName})
}

// HandBack moves what the workflow that calls it has left of its exports into the next round, once no run of it delivers
// them in this process any more.
func (a *Activities) HandBack(ctx context.Context, part Part) error {
	defer workflows.Beat(ctx)()
	if err := checkInput(part.Version, part.Exports); err != nil {
		return err
	}
	leave, free := a.runs.enter(part)
	if !free {
		return workflows.RetryAfter("under_way", 0, wait.Jittered(runsDelay))
	}
	defer leave()
	exports, err := a.Store.ExportsByID(ctx, part.Exports)
	if err != nil {
		return a.storeAway(err)
	}
	for _, e := range exports {
		if err := a.Leave(ctx, e, activity.GetInfo(ctx).WorkflowExecution.ID); err != nil {
			return a.storeAway(err)
		}
	}
	return nil
}

// ownGroups is how many groups a node delivers before others may take those that it starts. Those of a node that is not
// busy stay there, which saves Temporal the way through a task queue.
const ownGroups = 2

// Busy reports whether that many groups are being delivered on this node.
func (a *Activities) Busy() bool { return a.groups.Load() >= ownGroups }

// storeAway is the error with which an activity waits for the store.
func (a *Activities) storeAway(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		// The database was restored from a backup that does not have it. The workflow stays open, so that export strays
		// lists what was lost, and goes on should a newer backup be restored.
		return workflows.RetryAfter("unknown_here", 0, wait.Jittered(time.Minute))
	}
	a.Log.Warn("an activity could not use the store; it runs again", zap.Error(err))
	return workflows.RetryAfter(delivery.StoreUnavailable, 0, wait.Jittered(5*time.Second))
}
