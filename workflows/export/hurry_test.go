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
	"github.com/hiregate/hiregate/workflows/exporttest"
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

// UpdateActivityOptions has the time that the test took.
func (l *late) UpdateActivityOptions(ctx context.Context, in *workflowservice.UpdateActivityOptionsRequest,
	o ...grpc.CallOption) (*workflowservice.UpdateActivityOptionsResponse, error) {
	return l.WorkflowServiceClient.UpdateActivityOptions(context.WithoutCancel(ctx), in, o...)
}

// patientWorkflow has one activity, as a delivery has.
func patientWorkflow(ctx workflow.Context) (int, error) {
	var run int
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "deliver", StartToCloseTimeout: time.Hour, HeartbeatTimeout: 20 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 30 * time.Second, BackoffCoefficient: 1},
	}), "deliver").Get(ctx, &run)
	return run, err
}

// An activity that begins to run by itself while it is asked to run now goes on, and what it answers counts. One that waits
// for an hour runs at once.
func TestRunNowLeavesWhatRunsAlone(t *testing.T) {
	t.Parallel()
	_, c := temporaltest.New(t)
	const queue = "hurried"
	runs, ends := make(chan int), make(chan error)
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(patientWorkflow)
	began := 0
	w.RegisterActivityWithOptions(func(ctx context.Context) (int, error) {
		defer workflows.Beat(ctx)()
		require.NoError(t, workflows.RestoreRetryInterval(ctx, activity.GetClient(ctx), 30*time.Second))
		began++ // one at a time
		runs <- began
		return began, <-ends
	}, activity.RegisterOptions{Name: "deliver"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "export/acme/u-1", TaskQueue: queue},
		patientWorkflow)
	require.NoError(t, err)
	hurry := func(c client.Client) error {
		return workflows.RunNow(t.Context(), c, client.DefaultNamespace, "export/acme/u-1", "deliver")
	}
	waits := func(least time.Duration) {
		require.Eventually(t, func() bool {
			found, err := c.DescribeWorkflowExecution(t.Context(), "export/acme/u-1", "")
			require.NoError(t, err)
			next := found.GetPendingActivities()[0].GetNextAttemptScheduleTime()
			return next != nil && time.Until(next.AsTime()) > least
		}, time.Minute, 10*time.Millisecond, "what its run answered was dropped")
	}

	require.Equal(t, 1, <-runs)
	ends <- workflows.RetryAfter("held", 0, 10*time.Second)
	waits(0)
	require.NoError(t, hurry(exporttest.EngineClient{Service: &late{c.WorkflowService(), func() { require.Equal(t, 2, <-runs) }}}))
	ends <- workflows.RetryAfter("held", 0, time.Hour)
	waits(30 * time.Minute)
	require.NoError(t, hurry(c))
	require.Equal(t, 3, <-runs)
	found, err := c.DescribeWorkflowExecution(t.Context(), "export/acme/u-1", "")
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, found.GetPendingActivities()[0].GetActivityOptions().GetRetryPolicy().GetInitialInterval().AsDuration(),
		"a run after a lost one would begin while its attempt is under way")
	ends <- nil
	var last int
	require.NoError(t, run.Get(t.Context(), &last))
	require.Equal(t, 3, last)
	require.ErrorIs(t, hurry(c), workflows.ErrNotRunning)
}

// An activity whose worker died in its first run is run again after its interval, also where somebody hurries it meanwhile: it is
// neither lost nor does it end its workflow.
func TestRunNowLeavesWhatNeverAnsweredAlone(t *testing.T) {
	t.Parallel()
	_, c := temporaltest.New(t)
	const queue = "crashed"
	silent := make(chan struct{})
	w := worker.New(c, queue, worker.Options{})
	crashed := func(ctx workflow.Context) (int32, error) {
		var run int32
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: "deliver", ScheduleToCloseTimeout: 72 * time.Hour, StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Second,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 1},
		}), "deliver").Get(ctx, &run)
		return run, err
	}
	w.RegisterWorkflowWithOptions(crashed, workflow.RegisterOptions{Name: "crashed"})
	w.RegisterActivityWithOptions(func(ctx context.Context) (int32, error) {
		if activity.GetInfo(ctx).Attempt == 1 {
			<-silent // no heartbeat and no answer, as of a process that was killed
		}
		return activity.GetInfo(ctx).Attempt, nil
	}, activity.RegisterOptions{Name: "deliver"})
	require.NoError(t, w.Start())
	t.Cleanup(func() { close(silent); w.Stop() })
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "export/acme/u-1", TaskQueue: queue}, "crashed")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		found, err := c.DescribeWorkflowExecution(t.Context(), "export/acme/u-1", "")
		require.NoError(t, err)
		all := found.GetPendingActivities()
		return len(all) == 1 && all[0].GetAttempt() == 2
	}, time.Minute, 10*time.Millisecond, "Temporal does not miss its heartbeats")
	require.NoError(t, workflows.RunNow(t.Context(), c, client.DefaultNamespace, "export/acme/u-1", "deliver"))
	var last int32
	require.NoError(t, run.Get(t.Context(), &last), "Temporal took its time for over")
	require.EqualValues(t, 2, last)
}
