package dispatch_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

func TestLostDeliveryGoesOnInAnotherWorkflow(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Status.Store(http.StatusInternalServerError)
	e := b.Dispatched("u-1", "hris")
	b.DeliverOnce(e)
	b.Advance(20 * time.Minute)
	now, _ := b.Look(e)
	require.False(t, now.DispatchedAt.IsZero(), "its workflow runs: the breaker is open, or its place is taken")

	b.Lose(e)
	now, d := b.Look(e)
	require.Zero(t, now.Round)
	require.True(t, now.DispatchedAt.IsZero(), "the sweep starts it")
	require.Equal(t, []string{"hris"}, now.Integrations)
	require.Equal(t, e.DeliverTill, now.DeliverTill, "an outage gives nobody more time")
	require.Equal(t, []any{0, 1, model.Retrying}, []any{d.Round, d.Attempts, d.Outcome})

	b.Mark(now, "hris")
	b.Status.Store(http.StatusOK)
	res, _, _ := b.DeliverOnce(now)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}, res)
	b.Lose(now)
	b.Advance(time.Hour)
	now, _ = b.Look(e)
	require.False(t, now.DispatchedAt.IsZero(), "what was delivered is not lost")
}

// What was never attempted has no row: it is found by what its export says.
func TestWhatWasNeverAttemptedIsFound(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Dispatched("u-1", "hris", "crm")
	b.DeliverOnce(e)
	b.Lose(e)
	now, _ := b.Look(e)
	require.Equal(t, 0, now.Round, "it may come yet")
	b.Advance(20 * time.Minute)
	now, d := b.Look(e)
	require.True(t, now.DispatchedAt.IsZero())
	require.Equal(t, model.Delivered, d.Outcome)
	b.Mark(now, "crm", "hris")
	b.Lose(now)
	b.Advance(20 * time.Minute)
	now, _ = b.Look(e)
	require.True(t, now.DispatchedAt.IsZero(), "and lost again")
	b.Mark(now, "crm", "hris")
	asked := b.Asked.Load()
	b.DeliverOnce(now)
	require.Equal(t, asked, b.Asked.Load(), "hris has it")
}

// Of an old export whose delivery is final only the redelivery itself tells that something should happen.
func TestLostRedeliveryOfAnOldExportIsFound(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Dispatched("u-1", "hris")
	b.DeliverOnce(e)
	b.Lose(e)
	b.Advance(model.DeliveryWindow + 24*time.Hour)
	res, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, res)
	now, _ := b.Look(e)
	require.True(t, now.DispatchedAt.IsZero())
	b.Mark(now, "hris")
	b.Advance(20 * time.Minute)
	now, d := b.Look(e)
	require.Equal(t, []any{1, model.Pending}, []any{now.Round, d.Outcome}, "its workflow runs")
	b.Lose(now)
	now, d = b.Look(e)
	require.Equal(t, []any{2, 2, model.Pending}, []any{now.Round, d.Round, d.Outcome})
	b.Mark(now, "hris")
	b.DeliverOnce(now)
	require.Equal(t, model.Delivered, b.Delivery(now).Outcome)
	require.Equal(t, int64(2), b.Asked.Load())
}

func TestHeldDeliveryWithoutAWorkflowIsParkedInAnother(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Set(model.NotConfigured)
	e := b.Dispatched("u-1", "hris")
	b.DeliverOnce(e)
	b.Advance(time.Hour)
	b.Temporal.Asked = func() { t.Error("Temporal was asked, and nothing was due") }
	b.Look(e)
	b.Temporal.Asked = nil
	b.Advance(2 * time.Minute)
	now, _ := b.Look(e)
	require.Equal(t, 0, now.Round, "it is held by its workflow")
	b.Lose(e)
	now, d := b.Look(e)
	require.Equal(t, 1, now.Round)
	require.Equal(t, model.Held, d.Outcome)

	b.Mark(now, "hris")
	b.DeliverOnce(now)
	b.Advance(61 * time.Minute)
	_, _, class := b.DeliverOnce(now)
	require.Empty(t, class)
	b.Lose(now)
	b.Advance(24 * time.Hour)
	now, d = b.Look(e)
	require.True(t, d.Parked)
	require.Equal(t, 1, now.Round, "parked has no workflow")
}

// Held, an export that was triggered here is never parked: it has a workflow to its end, and nothing to happen to it before.
func TestHeldTriggeredExportIsLostAtItsEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Set(model.NotConfigured)
	e := b.Take("u-1", `{}`, exporttest.Triggered)
	b.Mark(e, "hris")
	b.DeliverOnce(e)
	b.Lose(e)
	b.Advance(model.DocumentWindow)
	b.Temporal.Asked = func() { t.Error("Temporal was asked, and nothing was due") }
	b.Look(e)
	b.Temporal.Asked = nil
	b.Advance(2 * time.Minute)
	now, _ := b.Look(e)
	require.Equal(t, 1, now.Round)
	b.Mark(now, "hris")
	b.DeliverOnce(now)
	require.Equal(t, model.Expired, b.Delivery(now).Outcome)
}

// The gateway was down when the delivery's time ended, and Temporal gave its activity up: nobody wrote the outcome. Held does not run
// out, and all else ends.
func TestEndThatNobodyWroteIsWritten(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Status.Store(http.StatusInternalServerError)
	retrying := b.Dispatched("u-1", "hris")
	b.DeliverOnce(retrying)
	b.Set(model.Disabled)
	held := b.Dispatched("u-2", "hris")
	b.DeliverOnce(held)
	b.Set(model.Configured)
	b.Advance(model.DeliveryWindow + time.Hour)
	for _, e := range []*model.Export{retrying, held} {
		b.Lose(e)
		b.Temporal.Ended[model.WorkflowID(e.Tenant, e.Key, 0)] = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	}
	now, _ := b.Look(retrying)
	b.Mark(now, "hris")
	b.DeliverOnce(now)
	require.Equal(t, model.Failed, b.Delivery(now).Outcome)
	now, _ = b.Look(held)
	b.Mark(now, "hris")
	b.Status.Store(http.StatusOK)
	b.DeliverOnce(now)
	require.Equal(t, model.Delivered, b.Delivery(now).Outcome)
}

// The same of what was never attempted and so has no row: the gateway was down for days, or could not ask Temporal.
func TestEndOfWhatWasNeverAttemptedIsWritten(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"at the first look": true, "at a later one": false} {
		b := exporttest.NewLossFixture(t)
		e := b.Dispatched("u-1", "hris")
		if !restarted {
			b.Look(e)
		}
		b.Advance(model.DeliveryWindow + 24*time.Hour)
		b.Lose(e)
		b.Temporal.Ended[model.WorkflowID(e.Tenant, e.Key, 0)] = enums.WORKFLOW_EXECUTION_STATUS_FAILED
		now, _ := b.Look(e)
		require.Equal(t, 1, now.Round, name)
		b.Mark(now, "hris")
		b.DeliverOnce(now)
		require.Equal(t, model.Failed, b.Delivery(now).Outcome, name)
		require.Equal(t, model.ClassOurFault, b.Delivery(now).Fault, name)
		require.Contains(t, b.Delivery(now).Reason, "before its turn came", name)
		require.Contains(t, b.Delivery(now).Reason, "redeliver it", name)
		require.Zero(t, b.Asked.Load(), name)
	}
}

// Whoever asks need not wait until it is found.
func TestHeldDeliveryWithoutAWorkflowIsReleased(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*exporttest.LossFixture) error{
		"release": func(b *exporttest.LossFixture) error { return b.Watcher.Release(b.T.Context(), b.Integration()) },
		"redelivery": func(b *exporttest.LossFixture) error {
			res, err := b.Watcher.Redeliver(b.T.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
			require.Equal(b.T, []string{"hris"}, res.Started)
			return err
		},
	} {
		b := exporttest.NewLossFixture(t)
		b.Set(model.Disabled)
		e := b.Dispatched("u-1", "hris")
		b.DeliverOnce(e)
		b.Set(model.Configured)
		b.Lose(e)
		require.NoError(t, ask(b), name)
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, 1, now.Round, name)
		require.NoError(t, b.Watcher.Release(t.Context(), b.Integration()))
		b.Mark(now, "hris")
		b.DeliverOnce(now)
		require.Equal(t, model.Delivered, b.Delivery(now).Outcome, name)
		require.Equal(t, int64(1), b.Asked.Load(), name)
	}
}

func TestQuarantineEndsForWhatHasNoWorkflow(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.TakeFor("acme", "u-1", `{}`, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte("[]") })
	b.Mark(e, "hris")
	b.DeliverOnce(e)
	b.Lose(e)
	res, err := b.Watcher.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Round: 1, Released: []string{"hris"}}, res)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	b.Mark(now, "hris")
	b.DeliverOnce(now)
	require.Equal(t, model.Delivered, b.Delivery(now).Outcome)
}

// Somebody who terminates a workflow wants it to end.
func TestTerminatedWorkflowIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	for _, status := range []enums.WorkflowExecutionStatus{enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED} {
		b := exporttest.NewLossFixture(t)
		b.Status.Store(http.StatusInternalServerError)
		e := b.Dispatched("u-1", "hris")
		b.DeliverOnce(e)
		b.Lose(e)
		b.Temporal.Ended["export/acme/u-1"] = status
		b.Advance(20 * time.Minute)
		now, d := b.Look(e)
		require.Equal(t, 0, now.Round)
		require.Equal(t, model.Failed, d.Outcome)
		require.Equal(t, model.ClassOurFault, d.Fault)
		require.Contains(t, d.Reason, "it can be redelivered")
	}
}

// An activity that was late to write what it did leaves nothing to begin anew.
func TestWhatIsWrittenMeanwhileIsNotMoved(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Dispatched("u-1", "hris")
	b.Lose(e)
	b.Advance(20 * time.Minute)
	b.Temporal.Asked = func() { b.DeliverOnce(e) }
	now, d := b.Look(e)
	require.Equal(t, 0, now.Round)
	require.Equal(t, model.Delivered, d.Outcome)
	require.Equal(t, int64(1), b.Asked.Load())
}

// Its deliveries are through, its documents are not: they are fetched, and given up when their time is over.
func TestDocumentsOfALostWorkflowAreFetched(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.Partner.URL+`/one"}]}]}}`, func(e *model.Export) { e.Attachments = 1 })
	b.Mark(e, "hris")
	b.DeliverOnce(e)
	b.Status.Store(http.StatusServiceUnavailable)
	asked := b.Asked.Load()
	b.Advance(20 * time.Minute)
	b.Look(e)
	require.Equal(t, asked, b.Asked.Load(), "its workflow fetches them")
	b.Lose(e)
	now, _ := b.Look(e)
	require.Equal(t, 0, now.Round)
	require.Equal(t, asked+1, b.Asked.Load())
	b.Advance(model.DocumentWindow)
	b.Look(e)
	documents, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, model.GivenUp, documents[0].State)
}

// What Temporal gave up goes on at once in another workflow, with its attempts and its end; what was delivered does not.
func TestWhatWasCutIsHandedBack(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Leave = b.Watcher.Leave
	b.Status.Store(http.StatusInternalServerError)
	e := b.Dispatched("u-1", "hris", "crm")
	b.DeliverOnce(e)
	b.Status.Store(http.StatusOK)
	crm := exporttest.Part(e)
	crm.To = []string{"crm"}
	_, _, why := b.DeliverAll(crm)
	require.Nil(t, why)

	env := exporttest.NewWorkflow()
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
	d := b.Delivery(now)
	require.Equal(t, []any{model.Retrying, 1}, []any{d.Outcome, d.Attempts})
}
