package rounds_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// Nobody releases what is held when the gateway ends in the midst of a release, or the configuration says that its integration is open:
// it is found.
func TestWhatNoReleaseCameToIsReleased(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ closes, opens func(*exporttest.LossFixture) }{
		"configured": {func(b *exporttest.LossFixture) { b.Set(model.Disabled) }, func(b *exporttest.LossFixture) { b.Set(model.Configured) }},
		"verify off": {func(b *exporttest.LossFixture) { b.Set(model.NotConfigured) }, func(b *exporttest.LossFixture) { b.Integration().Verify = false }},
		"known": {
			func(b *exporttest.LossFixture) {
				b.Config.Tenants["globex"] = b.Config.Tenants["acme"]
				delete(b.Config.Tenants, "acme")
			},
			func(b *exporttest.LossFixture) { b.Config.Tenants["acme"] = b.Config.Tenants["globex"] },
		},
	} {
		b := exporttest.NewLossFixture(t)
		e := b.Accept("u-1")
		b.Mark(e, "hris")
		change.closes(b)
		b.DeliverOnce(e)
		b.Temporal.Running["export/acme/u-1"] = exporttest.Waiting()
		require.Empty(t, b.Tend(), "%s: its gate is closed", name)
		change.opens(b)
		require.Equal(t, []string{"export/acme/u-1 deliver"}, b.Tend(), name)
		b.Temporal.Running["export/acme/u-1"][0].NextAttemptScheduleTime = nil
		require.Empty(t, b.Tend(), "%s: a worker is about to take it", name)
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, model.ClassDelivered, res.Class, name)
		b.Temporal.Running["export/acme/u-1"] = exporttest.Waiting()
		require.Empty(t, b.Tend(), "%s: it is released", name)
	}
}

// What was released waits for its turn like all others, and is held no more.
func TestReleasedWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Status.Store(500)
	tried := b.Dispatched("u-tried", "hris")
	b.DeliverOnce(tried)
	b.Set(model.Disabled)
	_, _, class := b.DeliverOnce(tried)
	require.Equal(t, string(model.ClassHeld), class)
	require.Zero(t, b.Delivery(tried).NextAt, "nothing happens to it before its gate opens")
	held := b.Held("u-held")
	b.Set(model.Configured)
	for n := range 9 {
		b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
	}
	for e, outcome := range map[*model.Export]model.Outcome{tried: model.Retrying, held: model.Pending} {
		_, wait, class := b.DeliverOnce(e)
		require.Equal(t, "breaker_open", class)
		d := b.Delivery(e)
		require.Equal(t, []any{outcome, "", true, b.Clock().Add(wait).Truncate(time.Microsecond)}, []any{d.Outcome, d.Reason, d.HeldSince.IsZero(), d.NextAt})
		b.Temporal.Running["export/acme/"+e.Key] = exporttest.Waiting()
	}
	require.Empty(t, b.Tend())
	b.Set(model.Disabled)
	_, wait, class := b.DeliverOnce(held)
	require.Equal(t, string(model.ClassHeld), class, "its gate closed again")
	require.LessOrEqual(t, wait, 12*time.Second)
	require.Equal(t, b.Clock(), b.Delivery(held).HeldSince)
}

// A release does not ask a Temporal that is away for thousands, one after the other.
func TestReleaseEndsWhereTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Set(model.Disabled)
	for n := range 3 {
		b.Held(fmt.Sprint("u-", n))
	}
	b.Set(model.Configured)
	for _, late := range []bool{false, true} {
		temporal := &exporttest.Away{Late: late}
		b.Watcher.Reconciler.Client = exporttest.EngineClient{Service: temporal}
		require.Error(t, b.Watcher.TendHeld(t.Context()))
		require.Equal(t, int64(1), temporal.Asked.Load())
	}
	b.Watcher.Reconciler.Client = exporttest.EngineClient{Service: b.Temporal}
	require.Len(t, b.Tend(), 3)
}

// Its integration answered VERIFY, and its release has not come to it yet: whoever asks for it gets it, and is not told that
// VERIFY was not sent.
func TestRedeliveryOfWhatIsHeldNoMore(t *testing.T) {
	t.Parallel()
	redeliver := func(b *exporttest.LossFixture) rounds.Redelivery {
		b.Set(model.Configured)
		res, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
		require.NoError(t, err)
		return res
	}
	b := exporttest.NewLossFixture(t)
	b.Config.Tenants["acme"].Integrations = b.Config.Tenants["acme"].Integrations[:1]
	b.Set(model.NotConfigured)
	e := b.Held("u-1")
	require.Equal(t, rounds.Redelivery{Hurried: []string{"hris"}}, redeliver(b))
	require.Equal(t, []string{"export/acme/u-1 deliver"}, b.Temporal.Hurried)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)

	b = exporttest.NewLossFixture(t)
	b.Config.Tenants["acme"].Integrations = b.Config.Tenants["acme"].Integrations[:1]
	b.Set(model.NotConfigured)
	e = b.Dispatched("u-1", "hris")
	b.Park(e)
	b.Lose(e)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, redeliver(b))
}

// Temporal may run once more what was parked. By then its gate may be open, and its release under way: it is delivered by that alone.
func TestParkedIsNotTakenUpAgain(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.Disabled)
	e := b.Accept("u-1")
	b.Park(e)
	b.Set(model.Configured)
	res, _, class := b.DeliverOnce(e)
	require.Empty(t, class)
	require.Equal(t, model.ClassHeld, res.Class)
	require.Zero(t, b.Asked.Load())
}
