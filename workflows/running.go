package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// ErrNotRunning says that there is no running workflow of that id.
var ErrNotRunning = errors.New("it is not running")

// ErrNoActivity says that a running workflow has no activity of that id: it has ended, or is still to come.
var ErrNoActivity = errors.New("its workflow has no such activity now")

// answerTimeout is how long Temporal is waited for. The SDK bounds no question that is put to the service itself.
const answerTimeout = 10 * time.Second

// Unanswered tells of an error that Temporal did not answer: nothing is known then.
func Unanswered(err error) bool {
	var away *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	return errors.As(err, &away) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded)
}

// RunNow lets an activity that waits for its next run have it at once. One that is at work is left alone: a reset would cancel
// it, and what it does would be done twice. So is one that a worker is about to take: it would lose its place in the queue.
func RunNow(ctx context.Context, c client.Client, namespace, workflowID, activityID string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	execution := &common.WorkflowExecution{WorkflowId: workflowID}
	found, err := describe(ctx, c, namespace, execution)
	if err == nil {
		if found.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return ErrNotRunning
		}
		at := slices.IndexFunc(found.GetPendingActivities(), func(a *workflow.PendingActivityInfo) bool { return a.GetActivityId() == activityID })
		if at < 0 {
			return ErrNoActivity
		}
		activity := found.GetPendingActivities()[at]
		switch state := activity.GetState(); {
		case state == enums.PENDING_ACTIVITY_STATE_STARTED, state == enums.PENDING_ACTIVITY_STATE_SCHEDULED && activity.GetNextAttemptScheduleTime() == nil:
			return nil
		}
		_, err = c.WorkflowService().ResetActivity(ctx, &workflowservice.ResetActivityRequest{
			Namespace: namespace, Execution: execution, Activity: &workflowservice.ResetActivityRequest_Id{Id: activityID},
		})
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("asking Temporal to run an activity now: %w", err)
	}
	return nil
}

// Status is what became of the workflow of that id; unspecified: Temporal knows of none.
func Status(ctx context.Context, c client.Client, namespace, workflowID string) (enums.WorkflowExecutionStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	found, err := describe(ctx, c, namespace, &common.WorkflowExecution{WorkflowId: workflowID})
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, nil
	}
	if err != nil {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, fmt.Errorf("asking Temporal for a workflow: %w", err)
	}
	return found.GetWorkflowExecutionInfo().GetStatus(), nil
}

func describe(ctx context.Context, c client.Client, namespace string, execution *common.WorkflowExecution) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: execution})
}
