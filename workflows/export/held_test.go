package export_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// waiting is the activity of a delivery to hris that waits for its next run.
func waiting() []*workflow.PendingActivityInfo {
	return []*workflow.PendingActivityInfo{{ActivityId: "deliver", State: enums.PENDING_ACTIVITY_STATE_SCHEDULED, NextAttemptScheduleTime: timestamppb.Now(),
		LastAttemptCompleteTime: timestamppb.Now()}}
}

// held accepts an export, has its workflow run, and its delivery to hris wait at a closed gate.
func (b *lossFixture) held(key string) *model.Export {
	b.t.Helper()
	e := b.dispatched(key, "hris")
	_, _, class := b.deliver(e)
	require.Equal(b.t, string(model.ClassHeld), class)
	b.temporal.running["export/acme/"+key] = waiting()
	return e
}

func (b *lossFixture) tend() []string {
	b.t.Helper()
	b.temporal.hurried = nil
	require.NoError(b.t, b.watcher.TendHeld(b.t.Context()))
	return b.temporal.hurried
}

// Thousands may be held at once: each looks a second time, for a gate that was just opening, and then when it is parked.
func TestHeldHardlyEverLooks(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.NotConfigured)
	e := b.accept("u-1")
	looks := 0
	for class := "held"; class != ""; looks++ {
		var wait time.Duration
		_, wait, class = b.deliver(e)
		b.advance(wait)
	}
	require.Equal(t, 3, looks)
	require.True(t, b.delivery(e).Parked)
	require.Equal(t, noon.Add(time.Hour), b.Clock())
}

// Nobody releases what is held when the gateway ends in the midst of a release, or the configuration says that its integration is open:
// it is found.
func TestWhatNoReleaseCameToIsReleased(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ closes, opens func(*lossFixture) }{
		"configured": {func(b *lossFixture) { b.set(model.Disabled) }, func(b *lossFixture) { b.set(model.Configured) }},
		"verify off": {func(b *lossFixture) { b.set(model.NotConfigured) }, func(b *lossFixture) { b.integration().Verify = false }},
		"known": {
			func(b *lossFixture) {
				b.config.Tenants["globex"] = b.config.Tenants["acme"]
				delete(b.config.Tenants, "acme")
			},
			func(b *lossFixture) { b.config.Tenants["acme"] = b.config.Tenants["globex"] },
		},
	} {
		b := newLossFixture(t)
		e := b.accept("u-1")
		b.mark(e, "hris")
		change.closes(b)
		b.deliver(e)
		b.temporal.running["export/acme/u-1"] = waiting()
		require.Empty(t, b.tend(), "%s: its gate is closed", name)
		change.opens(b)
		require.Equal(t, []string{"export/acme/u-1 deliver"}, b.tend(), name)
		b.temporal.running["export/acme/u-1"][0].NextAttemptScheduleTime = nil
		require.Empty(t, b.tend(), "%s: a worker is about to take it", name)
		res, _, _ := b.deliver(e)
		require.Equal(t, model.ClassDelivered, res.Class, name)
		b.temporal.running["export/acme/u-1"] = waiting()
		require.Empty(t, b.tend(), "%s: it is released", name)
	}
}

// What was released waits for its turn like all others, and is held no more.
func TestReleasedWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.status.Store(500)
	tried := b.dispatched("u-tried", "hris")
	b.deliver(tried)
	b.set(model.Disabled)
	_, _, class := b.deliver(tried)
	require.Equal(t, string(model.ClassHeld), class)
	require.Zero(t, b.delivery(tried).NextAt, "nothing happens to it before its gate opens")
	held := b.held("u-held")
	b.set(model.Configured)
	for n := range 9 {
		b.deliver(b.accept(fmt.Sprint("u-", n)))
	}
	for e, outcome := range map[*model.Export]model.Outcome{tried: model.Retrying, held: model.Pending} {
		_, wait, class := b.deliver(e)
		require.Equal(t, "breaker_open", class)
		d := b.delivery(e)
		require.Equal(t, []any{outcome, "", true, b.Clock().Add(wait).Truncate(time.Microsecond)}, []any{d.Outcome, d.Reason, d.HeldSince.IsZero(), d.NextAt})
		b.temporal.running["export/acme/"+e.Key] = waiting()
	}
	require.Empty(t, b.tend())
	b.set(model.Disabled)
	_, wait, class := b.deliver(held)
	require.Equal(t, string(model.ClassHeld), class, "its gate closed again")
	require.LessOrEqual(t, wait, 12*time.Second)
	require.Equal(t, b.Clock(), b.delivery(held).HeldSince)
}

// away is a Temporal that does not answer.
type away struct {
	engine
	asked atomic.Int64
	late  bool // it takes the question, and is given up
}

func (a *away) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	a.asked.Add(1)
	if a.late {
		return nil, serviceerror.NewDeadlineExceeded("it did not answer")
	}
	return nil, serviceerror.NewUnavailable("connection refused")
}

// A release does not ask a Temporal that is away for thousands, one after the other.
func TestReleaseEndsWhereTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.set(model.Disabled)
	for n := range 3 {
		b.held(fmt.Sprint("u-", n))
	}
	b.set(model.Configured)
	for _, late := range []bool{false, true} {
		temporal := &away{late: late}
		b.watcher.Reconciler.Client = engineClient{service: temporal}
		require.Error(t, b.watcher.TendHeld(t.Context()))
		require.Equal(t, int64(1), temporal.asked.Load())
	}
	b.watcher.Reconciler.Client = engineClient{service: b.temporal}
	require.Len(t, b.tend(), 3)
}

// Its gate may open up to its end, and then it still goes out; and no sooner than then it expires.
func TestHeldTriggeredExportExpiresAtItsEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.Disabled)
	e, late := b.take("u-1", `{}`, triggered), b.take("u-2", `{}`, triggered)
	b.advance(model.DocumentWindow - time.Second)
	_, wait, class := b.deliver(late)
	require.Equal(t, string(model.ClassHeld), class)
	require.Equal(t, time.Second, wait)
	b.set(model.Configured)
	res, _, _ := b.deliver(late)
	require.Equal(t, model.ClassDelivered, res.Class)

	b.set(model.Disabled)
	b.advance(time.Second - model.DocumentWindow)
	for class := "held"; class != ""; {
		var wait time.Duration
		_, wait, class = b.deliver(e)
		if class != "" {
			require.Equal(t, model.Held, b.delivery(e).Outcome)
		}
		b.advance(wait)
	}
	require.Equal(t, e.DocumentsTill, b.Clock())
	d := b.delivery(e)
	require.Equal(t, model.Expired, d.Outcome)
	require.Contains(t, d.Reason, "hris is disabled", "it tells why nothing was sent")
	require.Zero(t, d.HeldSince, "it is counted among what is held")
}

// Its integration answered VERIFY, and its release has not come to it yet: whoever asks for it gets it, and is not told that
// VERIFY was not sent.
func TestRedeliveryOfWhatIsHeldNoMore(t *testing.T) {
	t.Parallel()
	redeliver := func(b *lossFixture) rounds.Redelivery {
		b.set(model.Configured)
		res, err := b.watcher.Redeliver(t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
		require.NoError(t, err)
		return res
	}
	b := newLossFixture(t)
	b.config.Tenants["acme"].Integrations = b.config.Tenants["acme"].Integrations[:1]
	b.set(model.NotConfigured)
	e := b.held("u-1")
	require.Equal(t, rounds.Redelivery{Hurried: []string{"hris"}}, redeliver(b))
	require.Equal(t, []string{"export/acme/u-1 deliver"}, b.temporal.hurried)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, res.Class)

	b = newLossFixture(t)
	b.config.Tenants["acme"].Integrations = b.config.Tenants["acme"].Integrations[:1]
	b.set(model.NotConfigured)
	e = b.dispatched("u-1", "hris")
	b.park(e)
	b.lose(e)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, redeliver(b))
}

// A gate may open while a run is ending that found it closed, and nobody can hurry that one.
func TestHeldLooksOnceMoreAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.NotConfigured)
	e := b.accept("u-1")
	_, wait, _ := b.deliver(e)
	require.LessOrEqual(t, wait, 3600*time.Millisecond)
	b.set(model.Configured)
	b.advance(wait)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Whoever looks reads why it is held now, and not why it once was; and once it was let go and tried, nothing of that.
func TestReasonOfWhatIsHeldIsThatOfNow(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.NotConfigured)
	e := b.accept("u-1")
	b.deliver(e)
	since := b.delivery(e).HeldSince
	b.advance(time.Minute)
	b.set(model.Disabled)
	b.deliver(e)
	d := b.delivery(e)
	require.Contains(t, d.Reason, "hris is disabled")
	require.Equal(t, since, d.HeldSince)
	b.set(model.Configured)
	b.status.Store(500)
	b.deliver(e)
	d = b.delivery(e)
	require.Equal(t, model.Retrying, d.Outcome)
	require.NotContains(t, d.Reason, "disabled")
	require.Zero(t, d.HeldSince)
}

// What is held when its time is about to end is parked before that, and not given up: held does not run out.
func TestHeldAtTheEndIsParked(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.Disabled)
	e := b.accept("u-1")
	b.advance(model.DeliveryWindow - 29*time.Second)
	res, _, class := b.deliver(e)
	require.Empty(t, class)
	require.Equal(t, model.ClassHeld, res.Class)
	require.True(t, b.delivery(e).Parked)
}

// Temporal may run once more what was parked. By then its gate may be open, and its release under way: it is delivered by that alone.
func TestParkedIsNotTakenUpAgain(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.Disabled)
	e := b.accept("u-1")
	b.park(e)
	b.set(model.Configured)
	res, _, class := b.deliver(e)
	require.Empty(t, class)
	require.Equal(t, model.ClassHeld, res.Class)
	require.Zero(t, b.asked.Load())
}
