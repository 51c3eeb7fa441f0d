// Package workflows holds what the workflows share: task queues, search attributes, and how an activity asks to be tried
// again. Each workflow has a folder of its own.
//
// Inputs, results and failures are ids, classes and counters. Bodies, documents, names and addresses stay in the store: a
// workflow's history is read by people who must not see them.
package workflows

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// The task queues. Fetching documents has its own, so that slow downloads don't take the places of deliveries.
const (
	DeliverQueue   = "hiregate-deliver"
	DocumentsQueue = "hiregate-documents"
)

// The search attributes that make workflows findable in Temporal's UI. They hold names from the configuration and fixed words.
var (
	AttributeTenant      = temporal.NewSearchAttributeKeyKeyword("HiregateTenant")
	AttributeEvent       = temporal.NewSearchAttributeKeyKeyword("HiregateEvent")
	AttributeOutcome     = temporal.NewSearchAttributeKeyKeyword("HiregateOutcome")
	AttributeIntegration = temporal.NewSearchAttributeKeyKeyword("HiregateIntegration")
)

// EnsureAttributes registers the search attributes where they are missing. An error means that workflows must be started
// without them: Temporal refuses a start with an unregistered one.
func EnsureAttributes(ctx context.Context, c client.Client, namespace string) error {
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("listing search attributes: %w", err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, a := range []temporal.SearchAttributeKeyKeyword{AttributeTenant, AttributeEvent, AttributeOutcome, AttributeIntegration} {
		if _, ok := known.GetCustomAttributes()[a.GetName()]; !ok {
			missing[a.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("adding search attributes: %w", err)
	}
	return nil
}

// RetryAfter is the error with which an activity asks Temporal to run it again after a delay. class says why, in a fixed word;
// status is the HTTP status of the answer, or 0.
func RetryAfter(class string, status int, delay time.Duration) error {
	text := class
	if status != 0 {
		text = fmt.Sprintf("%s: status %d", class, status)
	}
	return temporal.NewApplicationErrorWithOptions(text, class, temporal.ApplicationErrorOptions{
		NextRetryDelay: max(delay, time.Millisecond),
		Category:       temporal.ApplicationErrorCategoryBenign, // it is waiting, not broken: the SDK need not log it
	})
}

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

// Beat sends heartbeats until the returned function is called. A short activity ends before its first.
func Beat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(4 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// Jittered spreads a delay by a fifth to either side.
func Jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
