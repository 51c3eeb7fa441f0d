package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
)

// A workflow that can't go on is ended, and its exports go on in others: one that another version of the gateway started, whose input
// this one can't read or does not know, and one whose activity panics or does not know its input. Each is counted. What waits is left
// alone.
func TestBrokenWorkflowsAreHandedOver(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	var faults workflows.Faults
	b.watcher.Faults = &faults
	counted, err := client.NewLazyClient(client.Options{HostPort: b.address, MetricsHandler: faults.Handler()})
	require.NoError(t, err)
	t.Cleanup(counted.Close)
	w := worker.New(counted, workflows.DeliverQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(export.Workflow, workflow.RegisterOptions{Name: export.WorkflowName})
	older := func(ctx workflow.Context, in export.Input) error { // whose activities get other inputs
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: export.DeliverName, TaskQueue: workflows.DeliverQueue, StartToCloseTimeout: time.Minute,
		}), export.DeliverName, map[string]any{"export": in.Exports[0]}).Get(ctx, nil)
	}
	w.RegisterWorkflowWithOptions(older, workflow.RegisterOptions{Name: "older"})
	w.RegisterActivityWithOptions(func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		if len(part.Exports) > 1 {
			panic("index out of range")
		}
		return b.Deliver(ctx, part)
	}, activity.RegisterOptions{Name: export.DeliverName})
	b.Status.Store(503)

	all := map[string]*model.Export{}
	for _, key := range []string{"unread", "unknown", "older", "first", "second", "waits"} {
		all[key] = b.Accept(key)
	}
	for _, key := range []string{"unread", "unknown", "older", "waits"} {
		b.dispatched(all[key])
	}
	b.open("export/acme/unread", export.WorkflowName, map[string]any{"export": all["unread"].ID})
	b.open("export/acme/unknown", export.WorkflowName, export.Input{Version: export.InputVersion + 1, Exports: []int64{all["unknown"].ID}})
	b.open("export/acme/older", "older", export.Input{Exports: []int64{all["older"].ID}})
	b.open("export/acme/waits", export.WorkflowName, export.Input{Exports: []int64{all["waits"].ID}, To: []string{"hris"},
		DeliverTill: time.Now().Add(time.Hour)})
	group := b.group(nil, all["first"], all["second"])
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	b.Advance(2 * time.Minute)
	moved := func(key string) bool {
		require.NoError(t, b.watcher.FindLost(t.Context()))
		now, err := b.Store.Export(t.Context(), all[key].ID)
		require.NoError(t, err)
		return now.Round == 1 && now.DispatchedAt.IsZero()
	}
	for _, key := range []string{"unread", "unknown", "older", "first", "second"} {
		require.Eventually(t, func() bool { return moved(key) }, 2*time.Minute, 100*time.Millisecond, key)
	}
	require.False(t, moved("waits"))
	b.requireStatus(enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, "export/acme/unread", "export/acme/unknown", "export/acme/older", group)
	b.requireStatus(enums.WORKFLOW_EXECUTION_STATUS_RUNNING, "export/acme/waits")
	var told []string
	for _, fault := range faults.Lately(time.Now()) {
		told = append(told, fault.Name+" "+fault.Reason)
	}
	require.Equal(t, []string{"deliver error", "deliver panic", "export panic"}, told)
	require.Empty(t, faults.Lately(time.Now().Add(time.Hour)))
}
