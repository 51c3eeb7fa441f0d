package export_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

func TestDeliveredOnceAndNeverAgain(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	for range 3 { // Temporal may run an activity again whose end it did not hear of
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}, res)
	}
	require.Equal(t, int64(1), b.Asked.Load())
}

func TestAny2xxIsReceived(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	for _, status := range []int64{200, 201, 202, 204, 299} {
		b.Status.Store(status)
		e := b.Accept(fmt.Sprint("u-", status))
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, model.ClassDelivered, res.Class, "%d", status)
		require.Equal(t, model.Delivered, b.Delivery(e).Outcome)
	}
}

// What is delivered needs nobody to look at it: nothing is left of what went wrong before.
func TestDeliveredLeavesNothingOfItsFailures(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(422)
	e := b.Accept("u-1")
	b.DeliverOnce(e)
	d := b.Delivery(e)
	require.Equal(t, []any{model.ClassDataFault, "answered 422; only 2xx means received"}, []any{d.Fault, d.Reason})
	b.Status.Store(200)
	b.DeliverOnce(e)
	d = b.Delivery(e)
	require.Equal(t, []any{model.Class(""), "", time.Time{}}, []any{d.Fault, d.Reason, d.NextAt})
}

// Temporal may have workflows that a restored database does not know. Nothing is sent for them.
func TestNothingIsSentForWhatTheStoreDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	for name, part := range map[string]export.Part{
		"export": {Exports: []int64{e.ID + 1}, To: []string{"hris"}, Till: e.DeliverTill},
		"round":  {Exports: []int64{e.ID}, Round: e.Round + 1, To: []string{"hris"}, Till: e.DeliverTill},
	} {
		_, err := b.Env.ExecuteActivity(export.DeliverName, part)
		var waits *temporal.ApplicationError
		require.ErrorAs(t, err, &waits, name)
		require.Equal(t, "unknown_here", waits.Type(), name)
	}
	require.Zero(t, b.Asked.Load())
	_, err := b.Store.Delivery(t.Context(), e.ID, "hris", e.Round+1)
	require.ErrorIs(t, err, store.ErrNotFound)
}

// While the process ends there is no configuration: what is on its way waits for the next one.
func TestNothingIsTriedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	b.InForce.Drop(b.Config)
	_, wait, class := b.DeliverOnce(e)
	require.Equal(t, "stopping", class)
	require.InDelta(t, 5, wait.Seconds(), 1)
	b.InForce.Push(b.Config)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Where failures suffice, an attempt that was received leaves no line.
func TestReceivedAttemptsNeedNotBeLogged(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	core, said := observer.New(zap.InfoLevel)
	b.Log = zap.New(core)
	for n, failuresOnly := range []bool{false, true} {
		b.Config.LogFailuresOnly = failuresOnly
		e := b.Accept(fmt.Sprint("u-", n))
		for _, status := range []int64{http.StatusServiceUnavailable, http.StatusOK} {
			b.Status.Store(status)
			b.DeliverOnce(e)
		}
		var lines []string
		for _, line := range said.TakeAll() {
			lines = append(lines, line.Message)
		}
		require.Equal(t, []string{"delivery not received", "delivered"}[:2-n], lines)
	}
}

func TestPlaceInTheScheduleIsTheNumberOfAttempts(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Integration().Retry = []time.Duration{10 * time.Second, time.Minute, time.Hour}
	b.Status.Store(500)
	e := b.Accept("u-1")
	for n, gap := range []time.Duration{10 * time.Second, time.Minute, time.Hour, time.Hour} {
		_, wait, class := b.DeliverOnce(e)
		require.Equal(t, string(model.ClassPartnerFault), class)
		require.InDelta(t, gap.Seconds(), wait.Seconds(), 0.2*gap.Seconds())
		d := b.Delivery(e)
		require.Equal(t, model.Retrying, d.Outcome)
		require.Equal(t, n+1, d.Attempts)
		require.WithinDuration(t, b.Clock().Add(wait), d.NextAt, time.Millisecond)
		b.Advance(wait)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(503)
	for seconds, want := range map[string]time.Duration{"600": 10 * time.Minute, "90000": time.Hour} {
		b.Header.Store("Retry-After", seconds)
		_, wait, _ := b.DeliverOnce(b.Accept("u-" + seconds))
		require.Equal(t, want, wait)
	}
}

func TestReceivedExportIsTriedFor72Hours(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(422)
	e := b.Accept("u-1")
	b.Advance(model.DeliveryWindow - time.Hour)
	_, wait, _ := b.DeliverOnce(e)
	require.Less(t, wait, 7*time.Second)
	b.Advance(time.Hour - 31*time.Second)
	_, wait, _ = b.DeliverOnce(e)
	require.Equal(t, time.Second, wait.Round(time.Second), "the last attempt is made half a minute before the end")
	b.Advance(wait)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDataFault, res.Class, "the partner refused what was sent")
	d := b.Delivery(e)
	require.Equal(t, model.Failed, d.Outcome)
	require.Equal(t, 3, d.Attempts)
}

func TestTriggeredExportExpires(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := inbox.NewExport("acme", "u-1", []byte(`{}`), exporttest.Noon)
	e.Origin, e.DeliverTill = model.Triggered, e.DocumentsTill
	_, err := inbox.Accept(t.Context(), b.Store, e)
	require.NoError(t, err)
	b.Advance(model.DocumentWindow)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassExpired, res.Class)
	require.Contains(t, b.Delivery(e).Reason, "before its turn came")
	require.Contains(t, b.Delivery(e).Reason, "export the candidate again")
	require.Zero(t, b.Asked.Load())
}

func TestClosedGatesMakeNoAttempt(t *testing.T) {
	t.Parallel()
	for state, word := range map[model.IntegrationState]string{model.NotConfigured: "is not verified", model.Disabled: "is disabled"} {
		b := exporttest.NewFixture(t)
		b.Set(state)
		e := b.Accept("u-1")
		_, wait, class := b.DeliverOnce(e)
		require.Equal(t, string(model.ClassHeld), class)
		require.LessOrEqual(t, wait, 12*time.Second)
		d := b.Delivery(e)
		require.Equal(t, model.Held, d.Outcome)
		require.Contains(t, d.Reason, word)
		require.Zero(t, d.Attempts)
		require.Zero(t, b.Asked.Load())
	}
}

func TestIntegrationWithoutVerifyStopsOnlyWhenDisabled(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Integration().Verify = false
	b.Set(model.NotConfigured)
	res, _, _ := b.DeliverOnce(b.Accept("u-1"))
	require.Equal(t, model.ClassDelivered, res.Class)
	b.Set(model.Disabled)
	_, _, class := b.DeliverOnce(b.Accept("u-2"))
	require.Equal(t, string(model.ClassHeld), class)
	b.Set(model.Removed) // from the store, before it was declared in the configuration
	b.Advance(time.Second)
	res, _, _ = b.DeliverOnce(b.Accept("u-3"))
	require.Equal(t, model.ClassDelivered, res.Class)
}

func TestUnknownIntegrationIsHeldNotFailed(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	tenant := *b.Config.Tenants["acme"]
	b.Config.Tenants["acme"] = &model.Tenant{Name: "acme"}
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassHeld), class)
	b.Config.Tenants["acme"] = &tenant
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Held does not run out: after an hour the workflow ends, and a release begins the next round, with the attempts so far.
func TestHeldIsParkedAndReleased(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(500)
	e := b.Accept("u-1")
	_, wait, _ := b.DeliverOnce(e)
	require.NotZero(t, wait)
	b.Set(model.Disabled)
	for b.Delivery(e).Outcome != model.Held || !b.Delivery(e).Parked {
		res, wait, _ := b.DeliverOnce(e)
		if wait == 0 {
			require.Equal(t, model.ClassHeld, res.Class)
		}
		b.Advance(max(wait, time.Second))
	}
	require.WithinDuration(t, exporttest.Noon.Add(time.Hour), b.Clock(), 3*time.Minute)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, b.Clock()) }))

	redeliverer := b.Redeliverer()
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.Delivery(e).Parked, "released though it is disabled")
	b.Advance(100 * time.Hour) // longer than any delivery is tried
	b.Set(model.Configured)
	b.Status.Store(200)
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.NoError(t, redeliverer.TendHeld(t.Context()), "a second release finds nothing")
	next, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, next.Round)
	require.Equal(t, []string{"hris"}, next.Integrations)
	require.True(t, next.DispatchedAt.IsZero())
	res, _, _ := b.DeliverOnce(next)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}, res)
}

func TestGoneDisables(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(http.StatusGone)
	e := b.Accept("u-1")
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassHeld), class)
	status, err := b.Store.IntegrationStatus(t.Context(), b.Integration())
	require.NoError(t, err)
	require.Equal(t, model.Disabled, status.State)
	require.Equal(t, b.Clock(), b.Delivery(e).HeldSince, "no release finds it")
	_, _, _ = b.DeliverOnce(e)
	_, _, _ = b.DeliverOnce(b.Accept("u-2"))
	require.Equal(t, int64(1), b.Asked.Load())
}

// A partner that hangs must not take the places of others, and one that is down is left alone for a while.
func TestBreakerOpensAfterTenFailures(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(500)
	for n := range 10 {
		_, _, class := b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
		require.Equal(t, string(model.ClassPartnerFault), class)
	}
	e := b.Accept("u-late")
	_, wait, class := b.DeliverOnce(e)
	require.Equal(t, "breaker_open", class)
	require.Less(t, wait, 3*time.Second)
	require.Equal(t, int64(10), b.Asked.Load())
	require.Equal(t, model.Pending, b.Delivery(e).Outcome, "a gate that opens by itself leaves no trace")
}

// Thousands that wait for a partner that is down come again a few at a time, and none beyond its own end.
func TestThoseTurnedAwayComeBackInTurns(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(500)
	var waiting []*model.Export
	for n := range 600 {
		waiting = append(waiting, b.Accept(fmt.Sprint("waiting-", n)))
	}
	opened := time.Now()
	for n := range 10 {
		b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
	}
	// The breaker has the machine's clock, and lets one through each 15 s, which fails: on a busy machine that is one of these.
	through := 0
	turned := func(e *model.Export) (wait time.Duration, away bool) {
		_, wait, class := b.DeliverOnce(e)
		if class == "breaker_open" {
			return wait, true
		}
		through++
		require.LessOrEqual(t, through, int(time.Since(opened)/(15*time.Second)), "%q", class)
		return 0, false
	}
	seconds := map[int]int{}
	longest := time.Duration(0)
	for _, e := range waiting {
		wait, away := turned(e)
		if away {
			seconds[int(wait.Seconds())]++
			longest = max(longest, wait)
		}
	}
	require.Greater(t, longest, 20*time.Second, "600 of which 20 come in a second")
	require.Less(t, longest, 40*time.Second)
	for second, n := range seconds {
		require.Less(t, n, 200, "second %d", second)
	}
	b.Advance(model.DeliveryWindow - 34*time.Second)
	last := waiting[len(waiting)-5:]
	for _, e := range waiting[:len(waiting)-5] {
		turned(e)
	}
	next := func() time.Duration {
		for {
			require.NotEmpty(t, last, "none of them was turned away")
			wait, away := turned(last[0])
			if away {
				return wait
			}
			last = last[1:]
		}
	}
	require.Equal(t, 4*time.Second, next(), "it comes again while there is time for an attempt")
	b.Advance(31 * time.Second)
	require.Equal(t, 2*time.Second, next())
}

func TestRefusedByEgressIsOurFault(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Config.Egress = egress.New(egress.Policy{})
	e := b.Accept("u-1")
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassOurFault), class)
	require.Contains(t, b.Delivery(e).Reason, "egress allow")
	require.Zero(t, b.Asked.Load())
}

func TestCapOfAttemptsInFlight(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-release }))
	t.Cleanup(hanging.Close)
	b.Integration().URL, b.Integration().InFlight = hanging.URL+"/inbound", 2
	b.Set(model.Configured)
	var group sync.WaitGroup
	for n := range 2 {
		e := b.Accept(fmt.Sprint("u-", n))
		group.Go(func() { b.DeliverOnce(e) })
		<-arrived
	}
	_, wait, class := b.DeliverOnce(b.Accept("u-third"))
	require.Equal(t, "at_capacity", class)
	require.Less(t, wait, 3*time.Second)
	b.Integration().InFlight = 3 // with a reload
	e := b.Accept("u-other")
	group.Go(func() { b.DeliverOnce(e) })
	select {
	case <-arrived:
	case <-time.After(30 * time.Second):
		t.Error("there is no more room than before")
	}
	close(release)
	group.Wait()
	go func() { <-arrived }()
	res, _, _ := b.DeliverOnce(b.Accept("u-fourth"))
	require.Equal(t, model.ClassDelivered, res.Class)
}
