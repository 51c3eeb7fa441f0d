package export_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// late is a Temporal whose answer about a workflow comes late: meanwhile the test does something.
type late struct {
	workflowservice.WorkflowServiceClient
	meanwhile func()
}

func (l *late) DescribeWorkflowExecution(ctx context.Context, in *workflowservice.DescribeWorkflowExecutionRequest,
	o ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	answer, err := l.WorkflowServiceClient.DescribeWorkflowExecution(ctx, in, o...)
	l.meanwhile()
	return answer, err
}

// patientWorkflow has one activity, as a delivery has.
func patientWorkflow(ctx workflow.Context) (int32, error) {
	var attempt int32
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "deliver", StartToCloseTimeout: time.Hour, HeartbeatTimeout: 20 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Hour, BackoffCoefficient: 1},
	}), "deliver").Get(ctx, &attempt)
	return attempt, err
}

// An activity that begins to run while it is asked to run now comes to its end, once, and what it answers counts. One
// that waits for hours runs at once.
func TestRunNowLeavesWhatRunsAlone(t *testing.T) {
	t.Parallel()
	_, c := temporaltest.New(t)
	const queue = "hurried"
	runs, release := make(chan int32, 10), make(chan struct{})
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(patientWorkflow)
	w.RegisterActivityWithOptions(func(ctx context.Context) (int32, error) {
		defer workflows.Beat(ctx)()
		attempt := activity.GetInfo(ctx).Attempt
		runs <- attempt
		if attempt == 1 {
			return 0, workflows.RetryAfter("held", 0, time.Hour)
		}
		<-release
		return attempt, nil
	}, activity.RegisterOptions{Name: "deliver"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "export/acme/u-1", TaskQueue: queue},
		patientWorkflow)
	require.NoError(t, err)
	require.EqualValues(t, 1, <-runs)

	hurry := func(c client.Client) error {
		return workflows.RunNow(t.Context(), c, client.DefaultNamespace, "export/acme/u-1", "deliver")
	}
	require.Eventually(t, func() bool {
		found, err := c.DescribeWorkflowExecution(t.Context(), "export/acme/u-1", "")
		require.NoError(t, err)
		return found.GetPendingActivities()[0].GetNextAttemptScheduleTime() != nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, hurry(engineClient{service: &late{c.WorkflowService(), func() {
		require.NoError(t, hurry(c))
		require.EqualValues(t, 2, <-runs)
	}}}))
	close(release)
	var attempt int32
	require.NoError(t, run.Get(t.Context(), &attempt))
	require.EqualValues(t, 2, attempt, "what the run answered that was under way was dropped")
	require.Empty(t, runs)
	require.ErrorIs(t, hurry(c), workflows.ErrNotRunning)
}
