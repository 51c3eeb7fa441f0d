package dispatch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// groups is a Temporal that notes the groups it is asked to start.
type groups struct {
	exporttest.Starter
	mu      sync.Mutex
	started map[string]export.Input
}

func (g *groups) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, args ...any,
) (client.WorkflowRun, error) {
	if in := args[0].(export.Input); len(in.Exports) > 1 {
		g.mu.Lock()
		g.started[o.ID] = in
		g.mu.Unlock()
	}
	return nil, g.Start(o)
}

func TestManyThatWaitAreStartedAsAGroup(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.AcceptMany(20)
	b.Advance(time.Minute)
	g := &groups{started: map[string]export.Input{},
		Starter: exporttest.Starter{Start: func(client.StartWorkflowOptions) error { return nil }}}
	b.Run(g, false)
	id := model.GroupWorkflowID(all)
	for _, e := range all {
		now := b.Becomes(e, exporttest.Started)
		require.Equal(t, []any{id, ids[0], []string{"hris"}}, []any{now.WorkflowID, now.Group, now.Integrations})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, map[string]export.Input{id: {Version: export.InputVersion, Exports: ids, DocumentsTill: exporttest.Noon.Add(model.DocumentWindow),
		DeliverTill: exporttest.Noon.Add(model.DeliveryWindow), Local: true}}, g.started)
}

// A crash, or Temporal, comes between the making of a group and its start: it is started with the members that it was
// made with.
func TestInterruptedGroupIsStartedAsItWasMade(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.AcceptMany(12)
	b.Advance(time.Minute)
	var away atomic.Bool
	away.Store(true)
	asked := make(chan struct{}, 1000)
	g := &groups{started: map[string]export.Input{}, Starter: exporttest.Starter{Start: func(client.StartWorkflowOptions) error {
		asked <- struct{}{}
		if away.Load() {
			return serviceerror.NewUnavailable("connection refused")
		}
		return nil
	}}}
	b.Run(g, false)
	<-asked
	late := b.Accept("u-late")
	b.Advance(time.Minute)
	<-asked
	away.Store(false)
	for _, e := range append(all, late) {
		b.Becomes(e, exporttest.Started)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Len(t, g.started, 1)
	require.Equal(t, ids, g.started[model.GroupWorkflowID(all)].Exports)
	require.Equal(t, model.WorkflowID("acme", "u-late", 0), b.Becomes(late, exporttest.Started).WorkflowID)
}

// A workflow of the same ID may be that of a database that was there before. It does not deliver these exports.
func TestGroupOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.AcceptMany(9)
	first, err := converter.GetDefaultDataConverter().ToPayloads(export.Input{Exports: ids[:5]})
	require.NoError(t, err)
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{First: first, Start: func(o client.StartWorkflowOptions) error {
		if o.ID == model.GroupWorkflowID(all) {
			return serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
		}
		return nil
	}}, false)
	require.Eventually(t, func() bool {
		e, err := b.Store.Export(t.Context(), ids[8])
		return err == nil && e.Round == 1
	}, time.Minute, time.Millisecond)
	b.Advance(time.Minute)
	for _, e := range all {
		now := b.Becomes(e, exporttest.Started)
		require.Equal(t, []any{model.WorkflowID("acme", e.Key, 1), int64(0)}, []any{now.WorkflowID, now.Group})
	}
}
