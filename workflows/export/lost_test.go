package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// lossFixture is a fixture with a Temporal of its own, whose tenant has a second integration.
type lossFixture struct {
	*fixture
	temporal *engine
	watcher  begun
}

func newLossFixture(t *testing.T) *lossFixture {
	b := &lossFixture{fixture: newFixture(t), temporal: &engine{running: map[string][]*workflow.PendingActivityInfo{}, ended: map[string]enums.WorkflowExecutionStatus{}}}
	acme := b.config.Tenants["acme"]
	acme.Integrations = append(acme.Integrations, model.Integration{Tenant: "acme", Name: "crm", URL: b.partner.URL + "/crm", Secret: "s"})
	b.watcher = b.redeliverer()
	b.watcher.Reconciler.Client = engineClient{service: b.temporal}
	return b
}

// dispatched accepts an export and has its workflow run, towards integrations.
func (b *lossFixture) dispatched(key string, integrations ...string) *model.Export {
	b.t.Helper()
	e := b.accept(key)
	b.mark(e, integrations...)
	return e
}

func (b *lossFixture) mark(e *model.Export, integrations ...string) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, b.Clock(), integrations...) }))
	b.temporal.running[model.WorkflowID(e.Tenant, e.Key, e.Round)] = nil
}

func (b *lossFixture) lose(e *model.Export) {
	delete(b.temporal.running, model.WorkflowID(e.Tenant, e.Key, e.Round))
}

// look lets the gateway compare once, and gives the export as it then is, and its last delivery to hris.
func (b *lossFixture) look(e *model.Export) (*model.Export, *model.Delivery) {
	b.t.Helper()
	require.NoError(b.t, b.watcher.FindLost(b.t.Context()))
	now, err := b.Store.Export(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	all, err := b.Store.ListDeliveries(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	var last *model.Delivery
	for _, d := range all {
		if d.Integration == "hris" {
			last = d
		}
	}
	return now, last
}

func TestLostDeliveryGoesOnInAnotherWorkflow(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.status.Store(http.StatusInternalServerError)
	e := b.dispatched("u-1", "hris")
	b.deliver(e)
	b.advance(20 * time.Minute)
	now, _ := b.look(e)
	require.False(t, now.DispatchedAt.IsZero(), "its workflow runs: the breaker is open, or its place is taken")

	b.lose(e)
	now, d := b.look(e)
	require.Zero(t, now.Round)
	require.True(t, now.DispatchedAt.IsZero(), "the sweep starts it")
	require.Equal(t, []string{"hris"}, now.Integrations)
	require.Equal(t, e.DeliverTill, now.DeliverTill, "an outage gives nobody more time")
	require.Equal(t, []any{0, 1, model.Retrying}, []any{d.Round, d.Attempts, d.Outcome})

	b.mark(now, "hris")
	b.status.Store(http.StatusOK)
	res, _, _ := b.deliver(now)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}, res)
	b.lose(now)
	b.advance(time.Hour)
	now, _ = b.look(e)
	require.False(t, now.DispatchedAt.IsZero(), "what was delivered is not lost")
}

// What was never attempted has no row: it is found by what its export says.
func TestWhatWasNeverAttemptedIsFound(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.dispatched("u-1", "hris", "crm")
	b.deliver(e)
	b.lose(e)
	now, _ := b.look(e)
	require.Equal(t, 0, now.Round, "it may come yet")
	b.advance(20 * time.Minute)
	now, d := b.look(e)
	require.True(t, now.DispatchedAt.IsZero())
	require.Equal(t, model.Delivered, d.Outcome)
	b.mark(now, "crm", "hris")
	b.lose(now)
	b.advance(20 * time.Minute)
	now, _ = b.look(e)
	require.True(t, now.DispatchedAt.IsZero(), "and lost again")
	b.mark(now, "crm", "hris")
	asked := b.asked.Load()
	b.deliver(now)
	require.Equal(t, asked, b.asked.Load(), "hris has it")
}

// Of an old export whose delivery is final only the redelivery itself tells that something should happen.
func TestLostRedeliveryOfAnOldExportIsFound(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.dispatched("u-1", "hris")
	b.deliver(e)
	b.lose(e)
	b.advance(model.DeliveryWindow + 24*time.Hour)
	res, err := b.watcher.Redeliver(t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, res)
	now, _ := b.look(e)
	require.True(t, now.DispatchedAt.IsZero())
	b.mark(now, "hris")
	b.advance(20 * time.Minute)
	now, d := b.look(e)
	require.Equal(t, []any{1, model.Pending}, []any{now.Round, d.Outcome}, "its workflow runs")
	b.lose(now)
	now, d = b.look(e)
	require.Equal(t, []any{2, 2, model.Pending}, []any{now.Round, d.Round, d.Outcome})
	b.mark(now, "hris")
	b.deliver(now)
	require.Equal(t, model.Delivered, b.delivery(now).Outcome)
	require.Equal(t, int64(2), b.asked.Load())
}

func TestHeldDeliveryWithoutAWorkflowIsParkedInAnother(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.set(model.NotConfigured)
	e := b.dispatched("u-1", "hris")
	b.deliver(e)
	b.advance(time.Hour)
	b.temporal.asked = func() { t.Error("Temporal was asked, and nothing was due") }
	b.look(e)
	b.temporal.asked = nil
	b.advance(2 * time.Minute)
	now, _ := b.look(e)
	require.Equal(t, 0, now.Round, "it is held by its workflow")
	b.lose(e)
	now, d := b.look(e)
	require.Equal(t, 1, now.Round)
	require.Equal(t, model.Held, d.Outcome)

	b.mark(now, "hris")
	b.deliver(now)
	b.advance(61 * time.Minute)
	_, _, class := b.deliver(now)
	require.Empty(t, class)
	b.lose(now)
	b.advance(24 * time.Hour)
	now, d = b.look(e)
	require.True(t, d.Parked)
	require.Equal(t, 1, now.Round, "parked has no workflow")
}

// Held, an export that was triggered here is never parked: it has a workflow to its end, and nothing to happen to it before.
func TestHeldTriggeredExportIsLostAtItsEnd(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.set(model.NotConfigured)
	e := b.take("u-1", `{}`, triggered)
	b.mark(e, "hris")
	b.deliver(e)
	b.lose(e)
	b.advance(model.DocumentWindow)
	b.temporal.asked = func() { t.Error("Temporal was asked, and nothing was due") }
	b.look(e)
	b.temporal.asked = nil
	b.advance(2 * time.Minute)
	now, _ := b.look(e)
	require.Equal(t, 1, now.Round)
	b.mark(now, "hris")
	b.deliver(now)
	require.Equal(t, model.Expired, b.delivery(now).Outcome)
}

// The gateway was down when the delivery's time ended, and Temporal gave its activity up: nobody wrote the outcome. Held does not run
// out, and all else ends.
func TestEndThatNobodyWroteIsWritten(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.status.Store(http.StatusInternalServerError)
	retrying := b.dispatched("u-1", "hris")
	b.deliver(retrying)
	b.set(model.Disabled)
	held := b.dispatched("u-2", "hris")
	b.deliver(held)
	b.set(model.Configured)
	b.advance(model.DeliveryWindow + time.Hour)
	for _, e := range []*model.Export{retrying, held} {
		b.lose(e)
		b.temporal.ended[model.WorkflowID(e.Tenant, e.Key, 0)] = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	}
	now, _ := b.look(retrying)
	b.mark(now, "hris")
	b.deliver(now)
	require.Equal(t, model.Failed, b.delivery(now).Outcome)
	now, _ = b.look(held)
	b.mark(now, "hris")
	b.status.Store(http.StatusOK)
	b.deliver(now)
	require.Equal(t, model.Delivered, b.delivery(now).Outcome)
}

// The same of what was never attempted and so has no row: the gateway was down for days, or could not ask Temporal.
func TestEndOfWhatWasNeverAttemptedIsWritten(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"at the first look": true, "at a later one": false} {
		b := newLossFixture(t)
		e := b.dispatched("u-1", "hris")
		if !restarted {
			b.look(e)
		}
		b.advance(model.DeliveryWindow + 24*time.Hour)
		b.lose(e)
		b.temporal.ended[model.WorkflowID(e.Tenant, e.Key, 0)] = enums.WORKFLOW_EXECUTION_STATUS_FAILED
		now, _ := b.look(e)
		require.Equal(t, 1, now.Round, name)
		b.mark(now, "hris")
		b.deliver(now)
		require.Equal(t, model.Failed, b.delivery(now).Outcome, name)
		require.Equal(t, model.ClassOurFault, b.delivery(now).Fault, name)
		require.Contains(t, b.delivery(now).Reason, "before its turn came", name)
		require.Contains(t, b.delivery(now).Reason, "redeliver it", name)
		require.Zero(t, b.asked.Load(), name)
	}
}

// Whoever asks need not wait until it is found.
func TestHeldDeliveryWithoutAWorkflowIsReleased(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*lossFixture) error{
		"release": func(b *lossFixture) error { return b.watcher.Release(b.t.Context(), b.integration()) },
		"redelivery": func(b *lossFixture) error {
			res, err := b.watcher.Redeliver(b.t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
			require.Equal(b.t, []string{"hris"}, res.Started)
			return err
		},
	} {
		b := newLossFixture(t)
		b.set(model.Disabled)
		e := b.dispatched("u-1", "hris")
		b.deliver(e)
		b.set(model.Configured)
		b.lose(e)
		require.NoError(t, ask(b), name)
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, 1, now.Round, name)
		require.NoError(t, b.watcher.Release(t.Context(), b.integration()))
		b.mark(now, "hris")
		b.deliver(now)
		require.Equal(t, model.Delivered, b.delivery(now).Outcome, name)
		require.Equal(t, int64(1), b.asked.Load(), name)
	}
}

func TestQuarantineEndsForWhatHasNoWorkflow(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.takeFor("acme", "u-1", `{}`, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte("[]") })
	b.mark(e, "hris")
	b.deliver(e)
	b.lose(e)
	res, err := b.watcher.EndQuarantine(t.Context(), "acme", "u-1", alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Round: 1, Released: []string{"hris"}}, res)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	b.mark(now, "hris")
	b.deliver(now)
	require.Equal(t, model.Delivered, b.delivery(now).Outcome)
}

// Somebody who terminates a workflow wants it to end.
func TestTerminatedWorkflowIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	for _, status := range []enums.WorkflowExecutionStatus{enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED} {
		b := newLossFixture(t)
		b.status.Store(http.StatusInternalServerError)
		e := b.dispatched("u-1", "hris")
		b.deliver(e)
		b.lose(e)
		b.temporal.ended["export/acme/u-1"] = status
		b.advance(20 * time.Minute)
		now, d := b.look(e)
		require.Equal(t, 0, now.Round)
		require.Equal(t, model.Failed, d.Outcome)
		require.Equal(t, model.ClassOurFault, d.Fault)
		require.Contains(t, d.Reason, "it can be redelivered")
	}
}

// An activity that was late to write what it did leaves nothing to begin anew.
func TestWhatIsWrittenMeanwhileIsNotMoved(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.dispatched("u-1", "hris")
	b.lose(e)
	b.advance(20 * time.Minute)
	b.temporal.asked = func() { b.deliver(e) }
	now, d := b.look(e)
	require.Equal(t, 0, now.Round)
	require.Equal(t, model.Delivered, d.Outcome)
	require.Equal(t, int64(1), b.asked.Load())
}

// Its deliveries are through, its documents are not: they are fetched, and given up when their time is over.
func TestDocumentsOfALostWorkflowAreFetched(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.partner.URL+`/one"}]}]}}`, func(e *model.Export) { e.Attachments = 1 })
	b.mark(e, "hris")
	b.deliver(e)
	b.status.Store(http.StatusServiceUnavailable)
	asked := b.asked.Load()
	b.advance(20 * time.Minute)
	b.look(e)
	require.Equal(t, asked, b.asked.Load(), "its workflow fetches them")
	b.lose(e)
	now, _ := b.look(e)
	require.Equal(t, 0, now.Round)
	require.Equal(t, asked+1, b.asked.Load())
	b.advance(model.DocumentWindow)
	b.look(e)
	documents, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, model.GivenUp, documents[0].State)
}

// What Temporal gave up goes on at once in another workflow, with its attempts and its end; what was delivered does not.
func TestWhatWasCutIsHandedBack(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.Leave = b.watcher.Leave
	b.status.Store(http.StatusInternalServerError)
	e := b.dispatched("u-1", "hris", "crm")
	b.deliver(e)
	b.status.Store(http.StatusOK)
	crm := part(e)
	crm.To = []string{"crm"}
	_, _, why := b.deliverAll(crm)
	require.Nil(t, why)

	env := newWorkflow()
	env.SetStartTime(b.Clock())
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: e.WorkflowID})
	env.RegisterActivityWithOptions(func(export.Part) ([]export.DeliverResult, error) {
		return nil, temporal.NewNonRetryableApplicationError("gave up", "net", nil)
	}, activity.RegisterOptions{Name: export.DeliverName})
	env.RegisterActivityWithOptions(b.HandBack, activity.RegisterOptions{Name: export.HandBackName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{e.ID}, To: []string{"hris", "crm"}, DeliverTill: e.DeliverTill})
	require.NoError(t, env.GetWorkflowError())
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, []any{1, true, []string{"hris"}, e.DeliverTill}, []any{now.Round, now.DispatchedAt.IsZero(), now.Integrations, now.DeliverTill})
	d := b.delivery(now)
	require.Equal(t, []any{model.Retrying, 1}, []any{d.Outcome, d.Attempts})
}
