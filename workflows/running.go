package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// ErrNotRunning means that no workflow of that id is running.
var ErrNotRunning = errors.New("it is not running")

// ErrNoActivity means that a running workflow has no activity of that id: it has ended, or is still to come.
var ErrNoActivity = errors.New("its workflow has no such activity now")

// ErrTaskUnderWay is ErrNoActivity of a workflow that is taking its next step: it may be in a local activity.
var ErrTaskUnderWay = fmt.Errorf("its workflow is taking a step: %w", ErrNoActivity)

// answerTimeout bounds a question to Temporal's service. The SDK does not bound it.
const answerTimeout = 10 * time.Second

// Unanswered reports whether err means that Temporal did not answer, or was not asked. Nothing is known then.
func Unanswered(err error) bool {
	var away *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	return errors.As(err, &away) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, new(*serviceerror.FailedPrecondition))
}

// NotAskedYet is why Temporal is not asked until it is known whose the namespace is: it has not answered so far.
const NotAskedYet = "Temporal has not said yet whose its namespace is"

// Barred returns why Temporal may not be asked, a sentence: the namespace is another database's. It is empty when err
// says something else. It is the gateway that fails its own calls so; see package mark.
func Barred(err error) string {
	barred := new(serviceerror.FailedPrecondition)
	if !errors.As(err, &barred) || barred.Message == NotAskedYet {
		return ""
	}
	return barred.Message
}

// hurriedInterval is the retry interval of an activity that was hurried. Temporal counts it from the end of the last
// run, so one that waited for longer runs at once.
const hurriedInterval = time.Second

// RunNow has Temporal run an activity at once that waits for its next run. One that is running is left alone, and so is
// one that a worker is about to take: it would lose its place in the queue. So is one of which no run has answered so far,
// since its worker died: Temporal would count its next run from the year 1970, and take the activity's time for over.
// The error is ErrNotRunning or ErrNoActivity when there is nothing to run.
//
// It shortens the activity's retry interval, which RestoreRetryInterval lengthens again. ResetActivity would do too, but not
// where the activity begins to run while it is asked for: Temporal then drops what that run answers, and waits for its
// heartbeats to time out.
func RunNow(ctx context.Context, c client.Client, namespace, workflowID, activityID string) error {
	_, err := Wake(ctx, c, namespace, workflowID, activityID)
	return err
}

// Wake is RunNow, and reports whether the activity waited and was not left alone.
func Wake(ctx context.Context, c client.Client, namespace, workflowID, activityID string) (woken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	execution := &common.WorkflowExecution{WorkflowId: workflowID}
	found, err := describe(ctx, c, namespace, execution)
	if err == nil {
		if found.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return false, ErrNotRunning
		}
		pending := found.GetPendingActivities()
		at := slices.IndexFunc(pending, func(a *workflow.PendingActivityInfo) bool { return a.GetActivityId() == activityID })
		if at < 0 && found.GetPendingWorkflowTask() != nil {
			return false, ErrTaskUnderWay
		} else if at < 0 {
			return false, ErrNoActivity
		}
		switch a := pending[at]; {
		case a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED,
			a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED && a.GetNextAttemptScheduleTime() == nil,
			a.GetLastAttemptCompleteTime() == nil:
			return false, nil
		}
		err = setRetryInterval(ctx, c, namespace, execution, activityID, hurriedInterval)
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return false, ErrNotRunning
	}
	if err != nil {
		return false, fmt.Errorf("asking Temporal to run an activity now: %w", err)
	}
	return true, nil
}

// RestoreRetryInterval gives the activity that calls it the retry interval back that RunNow shortened: if its worker dies,
// or loses Temporal, the next run begins only once the attempts of this one are over. The error is Temporal's.
func RestoreRetryInterval(ctx context.Context, c client.Client, interval time.Duration) error {
	info := activity.GetInfo(ctx)
	if p := info.RetryPolicy; p == nil || p.InitialInterval >= interval {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := setRetryInterval(ctx, c, info.Namespace, &common.WorkflowExecution{
		WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID}, info.ActivityID, interval)
	if errors.As(err, new(*serviceerror.NotFound)) { // its workflow has ended: nothing runs it again
		return nil
	}
	return err
}

func setRetryInterval(ctx context.Context, c client.Client, namespace string, execution *common.WorkflowExecution,
	activityID string, interval time.Duration) error {
	_, err := c.WorkflowService().UpdateActivityOptions(ctx, &workflowservice.UpdateActivityOptionsRequest{
		Namespace: namespace, Execution: execution,
		Activity: &workflowservice.UpdateActivityOptionsRequest_Id{Id: activityID},
		ActivityOptions: &activitypb.ActivityOptions{
			RetryPolicy: &common.RetryPolicy{InitialInterval: durationpb.New(interval)},
		},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"retry_policy.initial_interval"}},
	})
	return err
}

// brokenTasks is from how many tries of its task on a workflow is taken for broken. A worker that is killed or slow takes
// one or two.
const brokenTasks = 5

// Status is the status of the latest run of a workflow; unspecified when Temporal knows of none. It is broken when it runs
// and its own code or that of an activity fails: what Temporal tries then again and again helps nobody.
func Status(ctx context.Context, c client.Client, namespace, workflowID string) (
	status enums.WorkflowExecutionStatus, broken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	found, err := describe(ctx, c, namespace, &common.WorkflowExecution{WorkflowId: workflowID})
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, false, nil
	}
	if err != nil {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, false, fmt.Errorf("asking Temporal for a workflow: %w", err)
	}
	return found.GetWorkflowExecutionInfo().GetStatus(), isBroken(found), nil
}

// isBroken reports whether a workflow can't go on. While an activity of it runs, that is not known.
func isBroken(found *workflowservice.DescribeWorkflowExecutionResponse) (broken bool) {
	broken = found.GetPendingWorkflowTask().GetAttempt() >= brokenTasks
	for _, a := range found.GetPendingActivities() {
		if a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
			return false
		}
		// What asks to be run again is benign. Another version of the gateway may know an activity that this one does not.
		failure := a.GetLastFailure().GetApplicationFailureInfo()
		if failure != nil && failure.GetCategory() != enums.APPLICATION_ERROR_CATEGORY_BENIGN &&
			failure.GetType() != "ActivityNotRegisteredError" {
			broken = true
		}
	}
	return broken
}

func describe(ctx context.Context, c client.Client, namespace string, execution *common.WorkflowExecution) (
	*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return c.WorkflowService().DescribeWorkflowExecution(ctx,
		&workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: execution})
}
