//lint:file-ignore SA1019 as internal/gateway does: the build id only marks who began a workflow

package exporttest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// Declare adds an integration that is configured.
func (b *Fixture) Declare(tenant, name, url string, inFlight int) {
	b.T.Helper()
	i := model.Integration{Tenant: tenant, Name: name, URL: url + "/inbound", Secret: "s", Options: model.Options{Documents: model.Rehost, InFlight: inFlight}, Verify: true}
	if b.Config.Tenants[tenant] == nil {
		b.Config.Tenants[tenant] = &model.Tenant{Name: tenant}
	}
	b.Config.Tenants[tenant].Integrations = append(b.Config.Tenants[tenant].Integrations, i)
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&i, store.IntegrationStatus{State: model.Configured, UpdatedAt: b.Clock()})
	}))
}

// Work has a real Temporal and a worker with so many slots deliver what is offered, until the test ends.
func (b *Fixture) Work(slots int) *dispatch.Dispatcher {
	b.T.Helper()
	_, c := temporaltest.New(b.T)
	b.Client = c
	//lint:ignore SA1019 as internal/gateway does: it only marks who began a workflow
	b.T.Cleanup(b.Worker(b.Activities, worker.Options{MaxConcurrentActivityExecutionSize: slots, BuildID: export.BuildID}))
	return b.Run(c, false)
}

// Worker starts a worker that runs the workflow and the activities of a node.
func (b *Fixture) Worker(a *export.Activities, o worker.Options) (stop func()) {
	b.T.Helper()
	w := worker.New(b.Client, workflows.DeliverQueue, o)
	a.Register(w, worker.New(b.Client, workflows.DocumentsQueue, worker.Options{}))
	require.NoError(b.T, w.Start())
	return w.Stop
}

// Run has a dispatcher start what waits, until the test ends.
func (b *Fixture) Run(temporal client.Client, attributes bool) *dispatch.Dispatcher {
	b.T.Helper()
	known := new(atomic.Bool)
	known.Store(attributes)
	var core zapcore.Core
	core, b.Logs = observer.New(zap.WarnLevel)
	d := &dispatch.Dispatcher{Store: b.Store, Client: temporal, InForce: b.InForce, Archive: b.Archive, Now: b.Clock, Log: zap.New(core), Attributes: known,
		Crowded: b.Crowded}
	ctx, stop := context.WithCancel(b.T.Context())
	var running sync.WaitGroup
	running.Go(func() { RunUntil(ctx, d, b.Loop()) })
	b.T.Cleanup(func() { stop(); running.Wait() })
	return d
}

// ClaimAlone claims an export, so that no group takes it.
func (b *Fixture) ClaimAlone(e *model.Export) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		taken, err := tx.TakeTurn(e, b.Clock(), b.Clock())
		if len(taken) != 1 {
			b.T.Errorf("claimed %d exports", len(taken))
		}
		return err
	}))
}

// Becomes waits until an export is as it should be.
func (b *Fixture) Becomes(e *model.Export, as func(*model.Export) bool) *model.Export {
	b.T.Helper()
	var now *model.Export
	require.Eventually(b.T, func() bool {
		var err error
		now, err = b.Store.Export(context.Background(), e.ID)
		return err == nil && as(now)
	}, 30*time.Second, 20*time.Millisecond)
	return now
}

// FirstRun runs First once, as a task of a workflow does.
func (b *Fixture) FirstRun(part export.Part) (first export.First) {
	b.T.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(b.First, activity.RegisterOptions{Name: export.FirstName})
	value, err := env.ExecuteLocalActivity(b.First, part)
	require.NoError(b.T, err)
	require.NoError(b.T, value.Get(&first))
	return first
}

// History returns what Temporal has of a workflow that has ended.
func (b *Fixture) History(id string) *history.History {
	b.T.Helper()
	require.NoError(b.T, b.Client.GetWorkflow(b.T.Context(), id, "").Get(b.T.Context(), nil))
	all := new(history.History)
	for events := b.Client.GetWorkflowHistory(b.T.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(b.T, err)
		all.Events = append(all.Events, event)
	}
	return all
}

// StartWorkflow has Temporal start a workflow that no worker runs yet.
func (b *Fixture) StartWorkflow(id string, in export.Input) {
	b.T.Helper()
	_, err := b.Client.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.DeliverQueue},
		export.WorkflowName, in)
	require.NoError(b.T, err)
}

// Carry runs an export's workflow, in which a delivery is taken a step further as deliver does it.
func (b *Fixture) Carry(e *model.Export, deliver func(context.Context, export.Part) ([]export.DeliverResult, error)) (res export.Result) {
	b.T.Helper()
	env := NewWorkflow()
	env.SetStartTime(b.Clock())
	env.RegisterActivityWithOptions(deliver, activity.RegisterOptions{Name: export.DeliverName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{e.ID}, DeliverTill: e.DeliverTill, To: []string{"hris"}})
	require.NoError(b.T, env.GetWorkflowError())
	require.NoError(b.T, env.GetWorkflowResult(&res))
	for n := range res.Deliveries {
		require.Equal(b.T, e.Tenant, res.Deliveries[n].Of)
		res.Deliveries[n].Of, res.Deliveries[n].Count = "", 0
	}
	return res
}
