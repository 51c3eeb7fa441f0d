// Package redelivery redelivers the exports of a range of time to an integration, at a rate. The store has which range,
// how far it came, and whether it shall go on; a workflow runs while it does.
package redelivery

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// The names under which the workflow and its activity are registered. Recorded histories hold them: they don't change.
const (
	WorkflowName  = "redelivery"
	RedeliverName = "redeliver"
)

// Input names the redelivery.
type Input struct {
	Redelivery string `json:"redelivery"`
}

// Result is how the redelivery stands when its workflow ends: it is paused or has ended.
type Result struct {
	State model.RedeliveryState `json:"state"`
}

// Workflow runs a redelivery until it is paused or ends. Its one activity asks to be run again until then, so that the
// history stays small however many exports there are.
func Workflow(ctx workflow.Context, in Input) (res Result, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:          RedeliverName,
		TaskQueue:           workflows.DeliverQueue,
		StartToCloseTimeout: 2 * time.Minute, // above the time of one run
		HeartbeatTimeout:    20 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 1},
	})
	err = workflow.ExecuteActivity(ctx, RedeliverName, in).Get(ctx, &res)
	return res, err
}

// WorkflowID is the id of the workflow of a redelivery. Each time that it is resumed, the workflow runs again.
func WorkflowID(id string) string { return "redelivery/" + id }

// Start starts the workflow of a redelivery, unless it runs.
func Start(ctx context.Context, c client.Client, id string) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       WorkflowID(id),
		TaskQueue:                workflows.DeliverQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "redelivery of a range of exports",
	}, WorkflowName, Input{Redelivery: id})
	if err != nil {
		return fmt.Errorf("starting a redelivery: %w", err)
	}
	return nil
}
