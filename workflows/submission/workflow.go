// Package submission has the applications of relayed tenants delivered to their service. The store says which are due,
// and what became of each; a workflow is one attempt.
package submission

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
	WorkflowName = "submission"
	AttemptName  = "attempt-submission"
)

// Input names the submission.
type Input struct {
	Tenant     string `json:"tenant"`
	Submission string `json:"submission"`
}

// Result is the state of the submission after the attempt. It is empty when none is to be made any more.
type Result struct {
	State model.SubmissionState `json:"state,omitempty"`
}

// span is how long one workflow runs. A submission that is still waiting is then started again.
const span = startAgain - time.Minute

// Workflow is one attempt of one submission.
func Workflow(ctx workflow.Context, in Input) (res Result, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              workflows.SubmissionsQueue,
		ScheduleToCloseTimeout: span,
		StartToCloseTimeout:    7 * time.Minute,
		HeartbeatTimeout:       20 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 1, MaximumAttempts: 0},
	})
	err = workflow.ExecuteActivity(ctx, AttemptName, in).Get(ctx, &res)
	return res, err
}

// start starts an attempt of a submission, unless one is running.
func start(ctx context.Context, c client.Client, in Input) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       "submission/" + in.Tenant + "/" + in.Submission,
		TaskQueue:                workflows.SubmissionsQueue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "attempt of a submission",
	}, WorkflowName, in)
	if err != nil {
		return fmt.Errorf("starting an attempt of a submission: %w", err)
	}
	return nil
}
