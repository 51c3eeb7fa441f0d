package submission

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// startAgain is after how long an attempt that has not ended is started again: its workflow may be gone.
	startAgain = 10 * time.Minute
	startEvery = time.Second
	// inFlight is how many attempts may be under way at once to a service; first ones take half of them at most.
	inFlight = 16
)

// Activities are the activity of the workflow, and the loop that starts it.
type Activities struct {
	Store   *store.DB
	Relay   *relay.Relay
	InForce *config.InForce
	Client  client.Client
	Now     func() time.Time
	Log     *zap.Logger
}

// Register puts the workflow and its activity on the worker of their task queue.
func (a *Activities) Register(r worker.Registry) {
	r.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	r.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: AttemptName})
}

// Attempt makes an attempt of a submission.
func (a *Activities) Attempt(ctx context.Context, in Input) (Result, error) {
	defer workflows.Beat(ctx)()
	if a.InForce.Current() == nil {
		return Result{}, workflows.RetryAfter("stopping", 0, 5*time.Second)
	}
	s, err := a.Store.Submission(ctx, in.Tenant, in.Submission)
	if errors.Is(err, store.ErrNotFound) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, a.storeAway(err)
	}
	lease, leased := a.Relay.NewLease(), false
	if err := a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		leased, err = tx.LeaseSubmission(s, lease, a.Now())
		return err
	}); err != nil {
		return Result{}, a.storeAway(err)
	}
	if !leased {
		if s.State == model.SubmissionWaiting && s.ErasedAt.IsZero() { // another attempt is under way, or its gateway has ended
			return Result{}, workflows.RetryAfter("leased", 0, wait.Jittered(5*time.Second))
		}
		return Result{}, nil
	}
	// Nothing cuts off an attempt that is under way: the service may have it already. It ends soon.
	attempt, err := a.Relay.Run(context.WithoutCancel(ctx), s, lease)
	if err != nil {
		return Result{}, a.storeAway(err)
	}
	return Result{State: attempt.State}, nil
}

func (a *Activities) storeAway(err error) error {
	a.Log.Warn("an attempt of a submission could not use the store; it is made again", zap.Error(err))
	return workflows.RetryAfter("store_unavailable", 0, wait.Jittered(5*time.Second))
}

// Loop starts the attempts that are due. While Temporal is away they wait in the store.
func (a *Activities) Loop() loop.Loop {
	return loop.Loop{Name: "submissions", Every: startEvery, Round: a.startDue,
		Failed: "applications wait for being sent to their service"}
}

func (a *Activities) startDue(ctx context.Context) error {
	c := a.InForce.Current()
	if c == nil {
		return nil
	}
	for t := range c.All() {
		if t.ApplyUpstream == nil {
			continue
		}
		if err := a.startOf(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// startOf starts the attempts of a tenant's submissions, as many as its service may be sent now. While
// that accepts nothing, one at a time asks whether it is back.
func (a *Activities) startOf(ctx context.Context, t *model.Tenant) error {
	now := a.Now()
	due, err := a.Store.ListDueSubmissions(ctx, t.Name, now, inFlight)
	if err != nil || len(due) == 0 { // of most tenants nothing is due, each second
		return err
	}
	places, err := a.Store.CountLeasedSubmissions(ctx, t.Name, now)
	if err != nil || places >= inFlight {
		return err
	}
	most := inFlight - int(places)
	u, err := a.Store.Upstream(ctx, t.Name, nil)
	switch {
	case err != nil, now.Before(u.SlowUntil), u.Fault != "" && places > 0:
		return err
	case u.Fault != "":
		most = 1
	}
	for _, s := range due[:min(most, len(due))] {
		if !a.Relay.MaySend(t.Name) {
			return nil
		}
		if err := start(ctx, a.Client, Input{t.Name, s.ID}); err != nil {
			return err
		}
		err := a.Store.Write(ctx, func(tx *store.Tx) error { return tx.PostponeSubmission(s, now.Add(startAgain)) })
		if err != nil {
			return err
		}
	}
	return nil
}
