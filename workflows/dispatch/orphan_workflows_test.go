package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/temporaltest"
	"github.com/hiregate/hiregate/workflows/verification"
)

// orphanFixture is a fixture with a real Temporal, where workflows are open and nobody works on them.
type orphanFixture struct {
	*exporttest.Fixture
	temporal client.Client
	address  string
	watcher  exporttest.Begun
}

func newOrphanFixture(t *testing.T) *orphanFixture {
	address, c := temporaltest.New(t)
	b := &orphanFixture{Fixture: exporttest.NewFixture(t), temporal: c, address: address}
	b.watcher = b.Redeliverer()
	b.watcher.Reconciler.Client, b.watcher.Reconciler.Dispatcher.Client, b.watcher.Reconciler.Namespace = c, c, client.DefaultNamespace
	return b
}

func (b *orphanFixture) open(id, name string, in any) {
	b.T.Helper()
	_, err := b.temporal.ExecuteWorkflow(b.T.Context(),
		client.StartWorkflowOptions{ID: id, TaskQueue: workflows.DeliverQueue}, name, in)
	require.NoError(b.T, err)
}

func (b *orphanFixture) dispatched(e *model.Export) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		return tx.MarkDispatched(e.ID, 0, b.Clock(), "hris")
	}))
}

// group makes a group of exports, of which the store has some more than are given.
func (b *orphanFixture) group(lacking []int64, all ...*model.Export) string {
	b.T.Helper()
	for _, e := range all {
		e.Integrations = []string{"hris"}
	}
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		if _, err := tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(all[0].ID, b.Clock())
	}))
	in := export.Input{}
	for _, e := range all {
		in.Exports = append(in.Exports, e.ID)
	}
	in.Exports = append(in.Exports, lacking...)
	id := model.GroupWorkflowID(all)
	b.open(id, export.WorkflowName, in)
	return id
}

// found waits until Temporal lists all that is open, and gives the ids of those that are orphans.
func (b *orphanFixture) found(looked int) (ids []string, all []dispatch.OrphanWorkflow) {
	b.T.Helper()
	require.EventuallyWithT(b.T, func(c *assert.CollectT) {
		res, err := b.watcher.FindOrphanWorkflows(b.T.Context(), time.Now().Add(time.Hour))
		require.NoError(c, err)
		require.Equal(c, looked, res.Looked)
		ids, all = []string{}, res.Found
		for _, s := range res.Found {
			ids = append(ids, s.Workflow)
		}
	}, time.Minute, 100*time.Millisecond)
	return ids, all
}

func (b *orphanFixture) requireStatus(want enums.WorkflowExecutionStatus, ids ...string) {
	b.T.Helper()
	for _, id := range ids {
		status, _, err := workflows.Status(b.T.Context(), b.temporal, client.DefaultNamespace, id)
		require.NoError(b.T, err)
		require.Equal(b.T, want, status, id)
	}
}

func TestOrphanWorkflowsAreFoundAndEnded(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	const lost = int64(7) // the IDs of exports that were accepted after the backup
	known := b.Accept("known")
	b.dispatched(known)
	b.open("export/acme/known", export.WorkflowName, export.Input{Exports: []int64{known.ID}})
	b.open("export/acme/lost", export.WorkflowName, export.Input{Exports: []int64{lost}})
	b.Accept("again") // the service has exported it once more, under the same UUID
	b.open("export/acme/again", export.WorkflowName, export.Input{Exports: []int64{lost + 1}})
	whole := b.group(nil, b.Accept("g-1"), b.Accept("g-2"))
	rest := b.Accept("g-3")
	partial := b.group([]int64{lost + 2}, rest)
	back := "export/acme/back"
	late := inbox.NewExport("acme", "back", []byte(`{"candidate":{}}`), b.Clock())
	b.open(back, export.WorkflowName, export.Input{Exports: []int64{late.ID}})
	b.open("verification/acme/hris", verification.WorkflowName, verification.Input{})
	b.open("export/none", export.WorkflowName, "started by somebody else")

	ids, orphans := b.found(7)
	require.Equal(t, []string{"export/acme/lost", "export/acme/again", partial, back}, ids, "the oldest first")
	require.WithinDuration(t, time.Now(), orphans[0].StartedAt, time.Minute)

	// The store is asked once more.
	_, err := inbox.Accept(t.Context(), b.Store, late)
	require.NoError(t, err)
	n, err := b.watcher.EndOrphanWorkflows(t.Context(), dispatch.OrphanWorkflows{Found: orphans})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	b.requireStatus(enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, ids[:3]...)
	b.requireStatus(enums.WORKFLOW_EXECUTION_STATUS_RUNNING, back, "export/acme/known", whole, "verification/acme/hris",
		"export/none")
	left, _ := b.found(4)
	require.Empty(t, left)

	now, err := b.Store.Export(t.Context(), rest.ID)
	require.NoError(t, err)
	require.Equal(t, []any{1, "export/acme/g-3/redelivery/1", true},
		[]any{now.Round, now.WorkflowID, now.DispatchedAt.IsZero()}, "what the store has of the group goes on by itself")
	deliveries, err := b.Store.ListDeliveries(t.Context(), rest.ID)
	require.NoError(t, err)
	require.Len(t, deliveries, 1)
	d := deliveries[0]
	require.Equal(t, []any{"hris", 1, model.Pending}, []any{d.Integration, d.Round, d.Outcome})

	n, err = b.watcher.EndOrphanWorkflows(t.Context(), dispatch.OrphanWorkflows{Found: orphans})
	require.NoError(t, err)
	require.Zero(t, n, "they have ended")
}

// What was not compared is counted, so that nobody takes it for compared.
func TestAYoungWorkflowIsNoOrphan(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	b.open("export/acme/lost", export.WorkflowName, export.Input{Exports: []int64{7}})
	ids, orphans := b.found(1)
	require.Equal(t, []string{"export/acme/lost"}, ids)
	// A minute after a start, all is compared that was open before.
	for age, want := range map[time.Duration]dispatch.OrphanWorkflows{
		59 * time.Second: {Young: 1}, 61 * time.Second: {Found: orphans, Looked: 1},
	} {
		res, err := b.watcher.FindOrphanWorkflows(t.Context(), orphans[0].StartedAt.Add(age))
		require.NoError(t, err)
		require.Equal(t, want, res)
	}
}

// smallPages asks Temporal for two workflows a page, so that a test needs few.
type smallPages struct{ client.Client }

func (c smallPages) ListWorkflow(ctx context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	r.PageSize = 2
	return c.Client.ListWorkflow(ctx, r)
}

// Temporal gives a thousand workflows a page, at most, and the store looks for a page of exports at once.
func TestOrphanWorkflowsOfSeveralPages(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	b.watcher.Reconciler.Client = smallPages{b.temporal}
	const all = 5
	for n := range int64(all) {
		var exports []int64
		for id := range int64(store.MaxPage) {
			exports = append(exports, n*store.MaxPage+id+1)
		}
		b.open(fmt.Sprint("export/acme/", n), export.WorkflowName, export.Input{Exports: exports})
	}
	ids, orphans := b.found(all)
	require.Len(t, ids, all)
	n, err := b.watcher.EndOrphanWorkflows(t.Context(), dispatch.OrphanWorkflows{Found: orphans})
	require.NoError(t, err)
	require.Equal(t, all, n)
}

// It is not parallel: the gauge is that of the process.
func TestOrphanWorkflowsAreCountedAndLoggedOnAChange(t *testing.T) {
	b := newOrphanFixture(t)
	core, logged := observer.New(zapcore.InfoLevel)
	b.watcher.Reconciler.Log = zap.New(core)
	tell := func() (messages []string) {
		t.Helper()
		require.NoError(t, b.watcher.TellOrphanWorkflows(t.Context(), time.Now().Add(time.Hour)))
		for _, m := range logged.TakeAll() {
			messages = append(messages, fmt.Sprint(m.Level, " ", m.Message, " ", m.ContextMap()))
		}
		return messages
	}
	require.Empty(t, tell())
	b.open("export/acme/lost", export.WorkflowName, export.Input{Exports: []int64{7}})
	_, orphans := b.found(1)
	require.Equal(t, []string{"warn workflows are open whose exports the database lacks, as after the restore of an " +
		"older backup: hiregate export strays lists them map[workflows:1]"}, tell())
	require.Empty(t, tell(), "it was told")
	require.Equal(t, 1.0, metricstest.Gauge(t, "hiregate_stray_workflows"))
	n, err := b.watcher.EndOrphanWorkflows(t.Context(), dispatch.OrphanWorkflows{Found: orphans})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, metricstest.Gauge(t, "hiregate_stray_workflows"))
	b.found(0)
	logged.TakeAll()
	require.Equal(t, []string{"info no workflow is open any more whose exports the database lacks map[]"}, tell())
}

// Nobody knows yet how many are left where more are open than are compared. The next look says it, even if it finds as
// many as before. It is not parallel: the gauge is that of the process.
func TestOrphanWorkflowsThatWereNotComparedAreNotTakenForEnded(t *testing.T) {
	b := newOrphanFixture(t)
	core, logged := observer.New(zapcore.WarnLevel)
	b.watcher.Reconciler.Log = zap.New(core)
	b.open("export/acme/lost", export.WorkflowName, export.Input{Exports: []int64{7}})
	_, orphans := b.found(1)
	later := time.Now().Add(time.Hour)
	require.NoError(t, b.watcher.TellOrphanWorkflows(t.Context(), later))
	n, err := b.watcher.EndOrphanWorkflows(t.Context(), dispatch.OrphanWorkflows{Found: orphans, More: true})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1.0, metricstest.Gauge(t, "hiregate_stray_workflows"))
	b.open("export/acme/older", export.WorkflowName, export.Input{Exports: []int64{8}})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		res, err := b.watcher.FindOrphanWorkflows(t.Context(), later)
		require.NoError(c, err)
		require.Len(c, res.Found, 1)
		assert.Equal(c, "export/acme/older", res.Found[0].Workflow)
	}, time.Minute, 100*time.Millisecond)
	logged.TakeAll()
	require.NoError(t, b.watcher.TellOrphanWorkflows(t.Context(), later))
	require.Equal(t, 1, logged.FilterMessageSnippet("hiregate export strays lists them").Len())
}

// After Temporal was emptied, whoever looks at an export is told so.
func TestAnExportWhoseWorkflowIsLostSaysSo(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	b.IsLost = b.watcher.IsLost
	for _, key := range []string{"lost", "here"} {
		b.Fixture.Dispatched(key)
	}
	b.open("export/acme/here", export.WorkflowName, export.Input{Exports: []int64{7}})
	const soon = "its first attempt is made in a moment, or under way"
	require.Equal(t, soon, b.WaitOf("lost").Reason)
	b.Advance(2 * time.Minute)
	require.Equal(t, soon, b.WaitOf("here").Reason)
	wait := b.WaitOf("lost")
	require.Equal(t, b.Clock(), wait.NextAt)
	require.Equal(t, "Temporal has lost its workflow, as after it was emptied or an older backup of it was restored: it goes on "+
		"in another one in a moment", wait.Reason)
	// Without an answer nothing is claimed.
	b.IsLost = func(context.Context, *model.Export, int) (bool, error) { return true, context.DeadlineExceeded }
	require.Equal(t, soon, b.WaitOf("lost").Reason)
}
