package verification

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

// AtOnce is how many VERIFY events are under way at once. Tenants share these places: a tenant whose partners hang
// leaves the worker to others.
const AtOnce = 128

// Activities are the activity of the verification workflow.
type Activities struct {
	Store   *store.DB
	InForce *config.InForce
	Places  *fairpool.Pool // of AtOnce
	// Release releases the exports that are held for an integration.
	Release func(context.Context, *model.Integration) error
	Now     func() time.Time
	Log     *zap.Logger
}

// Register puts the workflow and its activity on a worker.
func (a *Activities) Register(r worker.Registry) {
	r.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	r.RegisterActivityWithOptions(a.Verify, activity.RegisterOptions{Name: VerifyName})
}

// Verify sends one VERIFY event and writes the result. Until the answer is exactly 200 it asks to be run again, on the
// integration's retry schedule.
func (a *Activities) Verify(ctx context.Context, in Input) (Result, error) {
	c := a.InForce.Current()
	if c == nil {
		return Result{}, workflows.RetryAfter("stopping", 0, 5*time.Second)
	}
	i, ok := c.Integration(in.Tenant, in.Integration)
	if !ok {
		return Result{}, workflows.RetryAfter("unknown_here", 0, time.Minute) // another node may know it
	}
	if hex.EncodeToString(i.Setting()) != in.Setting {
		return Result{State: model.Removed}, nil // another setting is in force, with a verification of its own
	}
	if !i.Verify {
		return Result{State: model.NotConfigured}, nil // it has `verify off` by now: it is trusted without being asked
	}
	status, err := a.Store.IntegrationStatus(ctx, i)
	if err != nil {
		return Result{}, workflows.RetryAfter("store_unavailable", 0, 5*time.Second)
	}
	if status.State != model.NotConfigured {
		return Result{State: status.State}, nil
	}
	if !a.Places.TryAcquire(i.Tenant, 1) {
		return Result{}, workflows.RetryAfter("no_place", 0, wait.Jittered(5*time.Second))
	}
	defer a.Places.Release(i.Tenant, 1)
	answer, reason, err := c.Names.Verify(ctx, c.Client(i), i)
	if err != nil {
		return Result{}, workflows.RetryAfter("stopping", 0, 5*time.Second)
	}
	return a.record(ctx, i, status, answer, reason)
}

func (a *Activities) record(ctx context.Context, i *model.Integration, asked store.IntegrationStatus, answer webhook.Answer,
	reason string) (Result, error) {
	status := asked
	status.Attempts++
	status.Reason = reason
	configured := reason == ""
	if configured {
		status.State = model.Configured
	}
	if configured || asked.UpdatedAt.IsZero() { // it is not verified since the first failure
		status.UpdatedAt = a.Now()
	}
	metrics.Verification(i.Tenant, i.Name, configured)
	moved := false
	err := a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		moved, err = tx.UpdateIntegrationStatus(i, asked, status)
		return err
	})
	if err != nil {
		return Result{}, workflows.RetryAfter("store_unavailable", 0, 5*time.Second)
	}
	if !moved { // it was changed or removed while it was asked
		return Result{}, workflows.RetryAfter("changed", answer.Status, 5*time.Second)
	}
	log := a.Log.With(zap.String("tenant", i.Tenant), zap.String("integration", i.Name),
		zap.Int("status", answer.Status), zap.Int("attempt", status.Attempts))
	if !configured {
		wait := max(i.Retry.Backoff(status.Attempts, rand.Float64()), answer.RetryAfter)
		what := "integration not configured: "
		if asked.ByFormer {
			what = "the new secret of an integration is not verified, and exports are signed with the former one: "
		}
		log.Warn(what+status.Reason, zap.Duration("next_in", wait))
		return Result{}, workflows.RetryAfter("not_configured", answer.Status, wait)
	}
	log.Info("integration configured: it answered VERIFY with 200")
	if err := a.Release(ctx, i); err != nil {
		log.Warn("what is held could not all be released; it is released in a moment", zap.Error(err))
	}
	return Result{State: status.State}, nil
}
