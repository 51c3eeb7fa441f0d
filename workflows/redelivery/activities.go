package redelivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/rounds"
)

const (
	// runFor is how long the activity works before it lets go of its place at the worker.
	runFor = 10 * time.Second
	// closedFor is how long it waits before it looks again at an integration that takes no exports.
	closedFor = 5 * time.Second
	pageSize  = 200
)

// Activities are the activity of the redelivery workflow, and the task that starts workflows.
type Activities struct {
	Store       *store.DB
	Client      client.Client
	InForce     *config.InForce
	Redeliverer *rounds.Redeliverer
	Now         func() time.Time
	Log         *zap.Logger
}

// Register puts the workflow and its activity on a worker.
func (a *Activities) Register(r worker.Registry) {
	r.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	r.RegisterActivityWithOptions(a.Redeliver, activity.RegisterOptions{Name: RedeliverName})
}

// Tend starts the workflow of each redelivery that is running by the store, unless it has one: Temporal was away when it
// began or was resumed, or lost it.
func (a *Activities) Tend(ctx context.Context) error {
	ids, err := a.Store.ListRunningRedeliveries(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := Start(ctx, a.Client, id); err != nil {
			return err
		}
	}
	return nil
}

// Redeliver goes on with a redelivery for ten seconds, and asks to be run again until that is paused or has ended.
func (a *Activities) Redeliver(ctx context.Context, in Input) (Result, error) {
	defer workflows.Beat(ctx)()
	j, err := a.Store.Redelivery(ctx, in.Redelivery)
	switch {
	case errors.Is(err, store.ErrNotFound): // it is in the database of another gateway, or of one that is gone
		return Result{}, workflows.RetryAfter("unknown_here", 0, time.Minute)
	case err != nil:
		return Result{}, a.storeAway(err)
	case j.State != model.RedeliveryRunning:
		return Result{State: j.State}, nil
	}
	closed, wait, err := a.closed(ctx, j)
	switch {
	case err != nil:
		return Result{}, a.storeAway(err)
	case closed != "":
		return Result{}, workflows.RetryAfter(closed, 0, wait)
	}
	state, err := a.advance(ctx, j)
	switch {
	case ctx.Err() != nil:
		return Result{}, workflows.RetryAfter("stopping", 0, time.Second)
	case err != nil:
		return Result{}, a.storeAway(err)
	case state == model.RedeliveryRunning:
		return Result{}, workflows.RetryAfter("running", 0, 0)
	}
	return Result{State: state}, nil
}

// storeAway is the error with which the activity waits for the store.
func (a *Activities) storeAway(err error) error {
	a.Log.Warn("a redelivery could not use the store; it goes on in a moment", zap.Error(err))
	return workflows.RetryAfter("store_unavailable", 0, wait.Jittered(5*time.Second))
}

// closed says in a fixed word why a redelivery can't go on now, and after which time to look again. Exports are not
// begun for an integration that takes none: they would only be held. A redelivery to one that was removed is cancelled.
func (a *Activities) closed(ctx context.Context, j *model.Redelivery) (class string, wait time.Duration, err error) {
	c := a.InForce.Current()
	if c == nil {
		return "stopping", time.Second, nil
	}
	i, ok := c.Integration(j.Tenant, j.Integration)
	if !ok {
		removed, err := a.Store.IsIntegrationRemoved(ctx, j.Tenant, j.Integration)
		if err == nil && removed {
			_, err = a.end(ctx, j, model.RedeliveryCancelled, fmt.Sprintf("integration %s was removed", j.Integration))
		}
		return "unknown_here", closedFor, err
	}
	status, err := a.Store.IntegrationStatus(ctx, i)
	if err == nil && !status.Deliverable(i) {
		return string(model.ClassHeld), closedFor, nil
	}
	return "", 0, err
}

// advance begins the rounds of the exports that a redelivery comes to, for ten seconds at most, and returns how it then
// stands.
func (a *Activities) advance(ctx context.Context, j *model.Redelivery) (model.RedeliveryState, error) {
	till := time.Now().Add(runFor)
	pace := rate.NewLimiter(rate.Limit(j.Rate), 1)
	for after := j.After; time.Now().Before(till); {
		page, err := a.Store.ListSelected(ctx, &j.Selection, after, pageSize)
		if err != nil {
			return j.State, err
		}
		for _, e := range page {
			if err := pace.Wait(ctx); err != nil {
				return j.State, err
			}
			err := a.Redeliverer.RedeliverSelected(ctx, j, e.ID)
			switch {
			case errors.Is(err, rounds.ErrStopped):
				return a.stands(ctx, j)
			case err != nil:
				return j.State, err
			}
			after = e.ID
			if !time.Now().Before(till) {
				return j.State, nil
			}
		}
		if len(page) < pageSize {
			return a.end(ctx, j, model.RedeliveryFinished, "")
		}
	}
	return j.State, nil
}

// end ends a redelivery, unless it was paused or ended meanwhile, and returns how it then stands.
func (a *Activities) end(ctx context.Context, j *model.Redelivery, state model.RedeliveryState,
	reason string) (model.RedeliveryState, error) {
	ended := false
	err := a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		ended, err = tx.UpdateRedeliveryState(j.ID, state, reason, a.Now(), model.RedeliveryRunning)
		return err
	})
	switch {
	case err != nil:
		return j.State, err
	case !ended:
		return a.stands(ctx, j)
	}
	a.Log.Info("a redelivery ended", zap.String("redelivery", j.ID), zap.String("tenant", j.Tenant),
		zap.String("integration", j.Integration), zap.String("state", string(state)))
	return state, nil
}

// stands reads how a redelivery stands.
func (a *Activities) stands(ctx context.Context, j *model.Redelivery) (model.RedeliveryState, error) {
	now, err := a.Store.Redelivery(ctx, j.ID)
	if err != nil {
		return j.State, err
	}
	return now.State, nil
}
