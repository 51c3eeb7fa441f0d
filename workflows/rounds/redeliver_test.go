package rounds_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// What is under way is not begun a second time before its first attempt has ended, nor after a redelivery to another integration.
func TestRedeliveryOfWhatWasNotTriedYet(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	tenant := b.Config.Tenants["acme"]
	for _, name := range []string{"crm", "late"} {
		tenant.Integrations = append(tenant.Integrations, model.Integration{Tenant: "acme", Name: name, URL: b.Partner.URL + "/" + name, Secret: "s"})
	}
	e := b.Accept("u-1")
	dispatched := func(round int, names ...string) {
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, round, b.Clock(), names...) }))
	}
	dispatched(0, "hris", "crm")
	hris := &workflow.PendingActivityInfo{ActivityId: "deliver", State: enums.PENDING_ACTIVITY_STATE_STARTED}
	temporal := &exporttest.Engine{Running: map[string][]*workflow.PendingActivityInfo{"export/acme/u-1": {hris}}}
	redeliverer := b.Redeliverer()
	redeliverer.Reconciler.Client = exporttest.EngineClient{Service: temporal}
	redeliver := func(names ...string) (rounds.Redelivery, error) {
		return redeliverer.Redeliver(t.Context(), "acme", "u-1", names, func(*store.Tx, rounds.Redelivery) error { return nil })
	}
	refused := func(names ...string) {
		_, err := redeliver(names...)
		reason := new(rounds.RefusedError)
		require.ErrorAs(t, err, &reason)
		require.Contains(t, reason.Reason, "waits for the documents")
	}

	res, err := redeliver("hris")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Hurried: []string{"hris"}}, res)
	require.Empty(t, temporal.Hurried, "the attempt that is being made was cut short")
	temporal.Running["export/acme/u-1"] = nil // the workflow waits for the documents
	refused("crm")

	temporal.Running["export/acme/u-1"] = []*workflow.PendingActivityInfo{hris}
	res, err = redeliver("late")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"late"}}, res, "it was added later: nothing is on its way there")
	dispatched(1, "late")
	hris.LastAttemptCompleteTime = timestamppb.Now()
	hris.State, hris.NextAttemptScheduleTime = enums.PENDING_ACTIVITY_STATE_SCHEDULED, timestamppb.Now() // at a closed breaker, or at in_flight
	res, err = redeliver("hris")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Hurried: []string{"hris"}}, res)
	require.Equal(t, []string{"export/acme/u-1 deliver"}, temporal.Hurried)
	delivered, _, _ := b.DeliverOnce(e)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}, delivered)

	b.Advance(time.Hour)
	delete(temporal.Running, "export/acme/u-1") // Temporal lost it
	res, err = redeliver("hris", "crm")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 2, Started: []string{"hris", "crm"}}, res)
}

// A redelivery to one integration gives the others no longer: their round ends when its workflow does.
func TestRedeliveryMovesNoEndButItsOwn(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(500)
	e := b.Accept("u-1")
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassPartnerFault), class)
	b.Advance(time.Hour)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris", "crm"); err != nil {
			return err
		}
		_, err := tx.BeginRound(e.ID, []string{"crm"}, b.Clock(), b.Clock().Add(model.DeliveryWindow))
		return err
	}))
	b.Advance(model.DeliveryWindow - time.Hour - 40*time.Second)
	_, wait, _ := b.DeliverOnce(e)
	require.LessOrEqual(t, wait, 10*time.Second, "the last attempt is made half a minute before the end")
	b.Advance(wait)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassPartnerFault, res.Class)
	require.Equal(t, model.Failed, b.Delivery(e).Outcome)
}

func TestActivityIsToldTheEndOfItsRound(t *testing.T) {
	t.Parallel()
	env := exporttest.NewWorkflow()
	env.SetStartTime(exporttest.Noon)
	var told export.Part
	env.RegisterActivityWithOptions(func(part export.Part) ([]export.DeliverResult, error) {
		told = part
		return []export.DeliverResult{{Export: 7, Integration: "hris", Class: model.ClassDelivered}}, nil
	}, activity.RegisterOptions{Name: export.DeliverName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{7}, Round: 1, DeliverTill: exporttest.Noon.Add(time.Hour), To: []string{"hris"}})
	require.NoError(t, env.GetWorkflowError())
	require.WithinDuration(t, exporttest.Noon, told.Began, time.Minute)
	told.Began = time.Time{}
	require.Equal(t, export.Part{Version: export.InputVersion, Exports: []int64{7}, Round: 1, To: []string{"hris"}, Till: exporttest.Noon.Add(time.Hour)}, told)
}

// Whoever asks for a redelivery that can't be is told why, and what to do; no round begins.
func TestRedeliveryThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*exporttest.LossFixture) *model.Export
		to      string
		reason  string
	}{
		"erased": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Delivered("u-1")
			b.Erase(e)
			return e
		}, "hris", "was erased"},
		"in quarantine": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Take("u-1", `{}`, func(e *model.Export) { e.Quarantined = true })
			b.Mark(e, "hris")
			return e
		}, "hris", "hiregate export release acme/u-1"},
		"triggered, and ended": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Take("u-1", `{}`, exporttest.Triggered)
			b.Mark(e, "hris")
			b.DeliverOnce(e)
			b.Advance(model.DocumentWindow)
			return e
		}, "hris", "export the candidate again"},
		"not dispatched": {func(b *exporttest.LossFixture) *model.Export { return b.Accept("u-1") }, "hris", "it waits for Temporal"},
		"no configuration": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Delivered("u-1")
			b.InForce.Drop(b.Config)
			return e
		}, "hris", "the gateway is stopping"},
		"tenant unknown": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Delivered("u-1")
			delete(b.Config.Tenants, "acme")
			return e
		}, "hris", "tenant acme has no integration: add one"},
		"tenant without an integration": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Delivered("u-1")
			b.Config.Tenants["acme"] = &model.Tenant{Name: "acme"}
			return e
		}, "hris", "tenant acme has no integration: add one"},
		"integration unknown": {func(b *exporttest.LossFixture) *model.Export { return b.Delivered("u-1") }, "nobody", `tenant acme has no integration "nobody"`},
		"held": {func(b *exporttest.LossFixture) *model.Export {
			b.Set(model.Disabled)
			return b.Held("u-1")
		}, "hris", "once its integration takes exports: integration hris is disabled: as the test has it; " +
			"hiregate integration enable acme/hris has it verified again"},
		"held for another reason by now": {func(b *exporttest.LossFixture) *model.Export {
			b.Set(model.NotConfigured)
			e := b.Held("u-1")
			b.Set(model.Disabled)
			return e
		}, "hris", "once its integration takes exports: integration hris is disabled"},
		"parked": {func(b *exporttest.LossFixture) *model.Export {
			b.Set(model.Disabled)
			e := b.Dispatched("u-1", "hris")
			b.Park(e)
			b.Lose(e)
			return e
		}, "hris", "hiregate integration enable acme/hris"},
		"delivered while it was asked for": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Retrying("u-1")
			b.Lose(e)
			b.Status.Store(http.StatusOK)
			b.Temporal.Asked = sync.OnceFunc(func() { b.DeliverOnce(e) })
			return e
		}, "hris", "attempted or redelivered just now"},
		"erased while it was asked for": {func(b *exporttest.LossFixture) *model.Export {
			e := b.Retrying("u-1")
			b.Lose(e)
			b.Temporal.Asked = sync.OnceFunc(func() { b.Erase(e) })
			return e
		}, "hris", "was erased"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewLossFixture(t)
			e := c.prepare(b)
			_, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", []string{c.to}, func(*store.Tx, rounds.Redelivery) error { return nil })
			reason := new(rounds.RefusedError)
			require.ErrorAs(t, err, &reason)
			require.Contains(t, reason.Reason, c.reason)
			now, err := b.Store.Export(t.Context(), e.ID)
			require.NoError(t, err)
			require.Zero(t, now.Round)
		})
	}
}

// A round whose beginning can't be noted by whoever asked for it does not begin.
func TestRedeliveryThatCannotBeNotedDoesNotBegin(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Delivered("u-1")
	noted := errors.New("it can't be noted")
	_, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return noted })
	require.ErrorIs(t, err, noted)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Zero(t, now.Round)
}

// Temporal refused its workflow once; whoever asks again wants that to be tried anew.
func TestWhatTemporalRefusedIsRedelivered(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Accept("u-1")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkFault(e.ID, "Temporal refuses its workflow", b.Clock()) }))
	res, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, res)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Empty(t, now.Fault)
	require.True(t, now.DispatchedAt.IsZero())
}

// Its workflow goes on for another integration, and has given this one up: nobody wrote that.
func TestRetryingWithoutItsActivityIsRedelivered(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Retrying("u-1")
	res, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, res)
	b.Status.Store(http.StatusOK)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, b.Clock().Add(model.DeliveryWindow), now.DeliverTill)
	delivered, _, _ := b.DeliverOnce(now)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}, delivered)
}
