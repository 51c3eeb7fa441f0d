package export_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/export"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// bench is the deliver activity over a real store and a real partner, with a clock of its own. The partner is verified.
type bench struct {
	*export.Activities
	t       *testing.T
	file    string // the database
	env     *testsuite.TestActivityEnvironment
	config  *config.Config
	partner *httptest.Server
	status  atomic.Int64           // the partner's answer
	header  sync.Map               // of the partner's answer
	asked   atomic.Int64           // requests that came to the partner
	log     *observer.ObservedLogs // of the dispatcher that runs
	mu      sync.Mutex
	now     time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: noon}
	b.status.Store(http.StatusOK)
	b.partner = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		b.header.Range(func(name, value any) bool { w.Header().Set(name.(string), value.(string)); return true })
		w.WriteHeader(int(b.status.Load()))
	}))
	t.Cleanup(b.partner.Close)
	b.file = filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+b.file, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := documents.OpenFiles(t.TempDir())
	require.NoError(t, err)
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	b.config = &config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}), PublicURL: "http://gate.example",
		Tenants: map[string]*hiring.Tenant{"acme": {Name: "acme", Integrations: []hiring.Integration{{
			Tenant: "acme", Name: "hris", URL: b.partner.URL + "/inbound", Secret: "s", Documents: hiring.Rehost, Verify: true,
		}}}}}
	force := new(config.InForce)
	force.Push(b.config)
	archive := &documents.Archive{Store: db, Files: files, InForce: force, Now: b.Clock, Log: zap.NewNop()}
	b.Activities = &export.Activities{Store: db, Archive: archive, InForce: force, Now: b.Clock, Log: zap.NewNop()}
	b.env = new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	b.env.RegisterActivityWithOptions(b.Deliver, activity.RegisterOptions{Name: export.DeliverName})
	b.set(hiring.Configured)
	return b
}

func (b *bench) Clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) integration() *hiring.Integration { return &b.config.Tenants["acme"].Integrations[0] }

func (b *bench) set(state hiring.IntegrationState) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		return tx.PutIntegrationStatus(b.integration(), store.IntegrationStatus{State: state, Reason: "as the test has it", UpdatedAt: b.Clock()})
	}))
}

func (b *bench) accept(key string) *hiring.Export {
	b.t.Helper()
	e := inbox.Arrive("acme", key, []byte(fmt.Sprintf(`{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`, key)), b.Clock())
	_, err := inbox.Accept(b.t.Context(), b.Store, e)
	require.NoError(b.t, err)
	return e
}

// deliver runs the activity once. It gives the result, or how long the activity asks to wait and why.
func (b *bench) deliver(e *hiring.Export) (res export.DeliverResult, wait time.Duration, class string) {
	b.t.Helper()
	value, err := b.env.ExecuteActivity(export.DeliverName, export.Part{Export: e.ID, Round: e.Round, Integration: "hris", Till: e.DeliverTill})
	if err == nil {
		require.NoError(b.t, value.Get(&res))
		return res, 0, ""
	}
	var again *temporal.ApplicationError
	require.True(b.t, errors.As(err, &again), "%v", err)
	return res, again.NextRetryDelay(), again.Type()
}

func (b *bench) delivery(e *hiring.Export) *hiring.Delivery {
	b.t.Helper()
	d, err := b.Store.Delivery(b.t.Context(), e.ID, "hris", e.Round)
	require.NoError(b.t, err)
	return d
}

func TestDeliveredOnceAndNeverAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.accept("u-1")
	for range 3 { // Temporal may run an activity again whose end it did not hear of
		res, _, _ := b.deliver(e)
		require.Equal(t, export.DeliverResult{Integration: "hris", Class: hiring.ClassDelivered, Attempts: 1}, res)
	}
	require.Equal(t, int64(1), b.asked.Load())
}

func TestPlaceInTheScheduleIsTheNumberOfAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.integration().Retry = []time.Duration{10 * time.Second, time.Minute, time.Hour}
	b.status.Store(500)
	e := b.accept("u-1")
	for n, gap := range []time.Duration{10 * time.Second, time.Minute, time.Hour, time.Hour} {
		_, wait, class := b.deliver(e)
		require.Equal(t, string(hiring.ClassPartnerFault), class)
		require.InDelta(t, gap.Seconds(), wait.Seconds(), 0.2*gap.Seconds())
		d := b.delivery(e)
		require.Equal(t, hiring.Retrying, d.Outcome)
		require.Equal(t, n+1, d.Attempts)
		require.WithinDuration(t, b.Clock().Add(wait), d.NextAt, time.Millisecond)
		b.advance(wait)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(503)
	for seconds, want := range map[string]time.Duration{"600": 10 * time.Minute, "90000": time.Hour} {
		b.header.Store("Retry-After", seconds)
		_, wait, _ := b.deliver(b.accept("u-" + seconds))
		require.Equal(t, want, wait)
	}
}

func TestReceivedExportIsTriedFor72Hours(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(422)
	e := b.accept("u-1")
	b.advance(hiring.DeliveryWindow - time.Hour)
	_, wait, _ := b.deliver(e)
	require.Less(t, wait, 7*time.Second)
	b.advance(time.Hour - 31*time.Second)
	_, wait, _ = b.deliver(e)
	require.Equal(t, time.Second, wait.Round(time.Second), "the last attempt is made half a minute before the end")
	b.advance(wait)
	res, _, _ := b.deliver(e)
	require.Equal(t, hiring.ClassDataFault, res.Class, "the partner refused what was sent")
	d := b.delivery(e)
	require.Equal(t, hiring.Failed, d.Outcome)
	require.Equal(t, 3, d.Attempts)
}

func TestTriggeredExportExpires(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := inbox.Arrive("acme", "u-1", []byte(`{}`), noon)
	e.Origin, e.DeliverTill = hiring.Triggered, e.DocumentsTill
	_, err := inbox.Accept(t.Context(), b.Store, e)
	require.NoError(t, err)
	b.advance(hiring.DocumentWindow)
	res, _, _ := b.deliver(e)
	require.Equal(t, hiring.ClassExpired, res.Class)
	require.Contains(t, b.delivery(e).Reason, "before its turn came")
	require.Contains(t, b.delivery(e).Reason, "export the candidate again")
	require.Zero(t, b.asked.Load())
}

func TestClosedGatesMakeNoAttempt(t *testing.T) {
	t.Parallel()
	for _, state := range []hiring.IntegrationState{hiring.NotConfigured, hiring.Disabled} {
		b := newBench(t)
		b.set(state)
		e := b.accept("u-1")
		_, wait, class := b.deliver(e)
		require.Equal(t, string(hiring.ClassHeld), class)
		require.LessOrEqual(t, wait, 12*time.Second)
		d := b.delivery(e)
		require.Equal(t, hiring.Held, d.Outcome)
		require.Contains(t, d.Reason, string(state))
		require.Zero(t, d.Attempts)
		require.Zero(t, b.asked.Load())
	}
}

func TestIntegrationWithoutVerifyStopsOnlyWhenDisabled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.integration().Verify = false
	b.set(hiring.NotConfigured)
	res, _, _ := b.deliver(b.accept("u-1"))
	require.Equal(t, hiring.ClassDelivered, res.Class)
	b.set(hiring.Disabled)
	_, _, class := b.deliver(b.accept("u-2"))
	require.Equal(t, string(hiring.ClassHeld), class)
	b.set(hiring.Removed) // from the store, before it was declared in the configuration
	b.advance(time.Second)
	res, _, _ = b.deliver(b.accept("u-3"))
	require.Equal(t, hiring.ClassDelivered, res.Class)
}

func TestUnknownIntegrationIsHeldNotFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.accept("u-1")
	tenant := *b.config.Tenants["acme"]
	b.config.Tenants["acme"] = &hiring.Tenant{Name: "acme"}
	_, _, class := b.deliver(e)
	require.Equal(t, string(hiring.ClassHeld), class)
	b.config.Tenants["acme"] = &tenant
	res, _, _ := b.deliver(e)
	require.Equal(t, hiring.ClassDelivered, res.Class)
}

// Held does not run out: after an hour the workflow ends, and a release begins the next round, with the attempts so far.
func TestHeldIsParkedAndReleased(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(500)
	e := b.accept("u-1")
	_, wait, _ := b.deliver(e)
	require.NotZero(t, wait)
	b.set(hiring.Disabled)
	for b.delivery(e).Outcome != hiring.Held || !b.delivery(e).Parked {
		res, wait, _ := b.deliver(e)
		if wait == 0 {
			require.Equal(t, hiring.ClassHeld, res.Class)
		}
		b.advance(max(wait, time.Second))
	}
	require.WithinDuration(t, noon.Add(time.Hour), b.Clock(), 3*time.Minute)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, b.Clock()) }))

	again := b.again()
	require.NoError(t, again.TendHeld(t.Context()))
	require.True(t, b.delivery(e).Parked, "released though it is disabled")
	b.advance(100 * time.Hour) // longer than any delivery is tried
	b.set(hiring.Configured)
	b.status.Store(200)
	require.NoError(t, again.TendHeld(t.Context()))
	require.NoError(t, again.TendHeld(t.Context()), "a second release finds nothing")
	next, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, next.Round)
	require.Equal(t, []string{"hris"}, next.Integrations)
	require.True(t, next.DispatchedAt.IsZero())
	res, _, _ := b.deliver(next)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: hiring.ClassDelivered, Attempts: 2}, res)
}

func (b *bench) again() *export.Again {
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(b.t, err)
	b.t.Cleanup(c.Close)
	d := &export.Dispatcher{Store: b.Store, Client: c, InForce: b.InForce, Archive: b.Archive, Now: b.Clock, Log: zap.NewNop(), Attributes: new(atomic.Bool)}
	return &export.Again{Store: b.Store, Client: c, Namespace: "default", Dispatcher: d, Now: b.Clock, Log: zap.NewNop()}
}

func TestGoneDisables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(http.StatusGone)
	e := b.accept("u-1")
	_, _, class := b.deliver(e)
	require.Equal(t, string(hiring.ClassHeld), class)
	status, err := b.Store.IntegrationStatus(t.Context(), b.integration())
	require.NoError(t, err)
	require.Equal(t, hiring.Disabled, status.State)
	_, _, _ = b.deliver(e)
	_, _, _ = b.deliver(b.accept("u-2"))
	require.Equal(t, int64(1), b.asked.Load())
}

// A partner that hangs must not take the places of others, and one that is down is left alone for a while.
func TestBreakerOpensAfterTenFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(500)
	for n := range 10 {
		_, _, class := b.deliver(b.accept(fmt.Sprint("u-", n)))
		require.Equal(t, string(hiring.ClassPartnerFault), class)
	}
	e := b.accept("u-late")
	_, wait, class := b.deliver(e)
	require.Equal(t, "breaker_open", class)
	require.Less(t, wait, 3*time.Second)
	require.Equal(t, int64(10), b.asked.Load())
	_, err := b.Store.Delivery(t.Context(), e.ID, "hris", 0)
	require.ErrorIs(t, err, store.ErrNotFound, "a gate that opens by itself leaves no trace")
}

// Thousands that wait for a partner that is down come again a few at a time, and none beyond its own end.
func TestThoseTurnedAwayComeBackInTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(500)
	for n := range 10 {
		b.deliver(b.accept(fmt.Sprint("u-", n)))
	}
	var waiting []*hiring.Export
	for n := range 600 {
		waiting = append(waiting, b.accept(fmt.Sprint("waiting-", n)))
	}
	seconds := map[int]int{}
	longest := time.Duration(0)
	for _, e := range waiting {
		_, wait, class := b.deliver(e)
		require.Equal(t, "breaker_open", class)
		seconds[int(wait.Seconds())]++
		longest = max(longest, wait)
	}
	require.Greater(t, longest, 8*time.Second, "600 of which 50 come in a second")
	require.Less(t, longest, 16*time.Second)
	for second, n := range seconds {
		require.Less(t, n, 200, "second %d", second)
	}
	b.advance(hiring.DeliveryWindow - 34*time.Second)
	last := waiting[len(waiting)-1]
	for _, e := range waiting { // the breaker lets one through, which fails, and turns the others away
		if e != last {
			b.deliver(e)
		}
	}
	_, wait, class := b.deliver(last)
	require.Equal(t, "breaker_open", class)
	require.Equal(t, 4*time.Second, wait, "it comes again while there is time for an attempt")
	b.advance(31 * time.Second)
	_, wait, _ = b.deliver(last)
	require.Equal(t, 2*time.Second, wait)
}

func TestRefusedByEgressIsOurFault(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Egress = egress.New(egress.Policy{})
	e := b.accept("u-1")
	_, _, class := b.deliver(e)
	require.Equal(t, string(hiring.ClassOurFault), class)
	require.Contains(t, b.delivery(e).Reason, "egress allow")
	require.Zero(t, b.asked.Load())
}

func TestCapOfAttemptsInFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-release }))
	t.Cleanup(hanging.Close)
	b.integration().URL, b.integration().InFlight = hanging.URL+"/inbound", 2
	b.set(hiring.Configured)
	var group sync.WaitGroup
	for n := range 2 {
		e := b.accept(fmt.Sprint("u-", n))
		group.Go(func() { b.deliver(e) })
		<-arrived
	}
	_, wait, class := b.deliver(b.accept("u-third"))
	require.Equal(t, "at_capacity", class)
	require.Less(t, wait, 3*time.Second)
	close(release)
	group.Wait()
	go func() { <-arrived }()
	res, _, _ := b.deliver(b.accept("u-fourth"))
	require.Equal(t, hiring.ClassDelivered, res.Class)
}
