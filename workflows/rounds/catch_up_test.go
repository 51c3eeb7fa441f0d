package rounds_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// backlog is a lossFixture whose partner fails, and whose exports wait for their next attempt.
type backlog struct {
	*exporttest.LossFixture
	all []*model.Export
	got []string // the keys of what came to the partner since it answers 200
}

// newBacklog has so many exports wait, each for hours. A partner that answers 404 opens no breaker.
func newBacklog(t *testing.T, n int, status func(at int) int) *backlog {
	t.Helper()
	b := &backlog{LossFixture: exporttest.NewLossFixture(t)}
	b.Integration().Retry = []time.Duration{3 * time.Hour}
	b.Temporal.Run = func(id string) {
		b.Advance(time.Second)
		at := slices.IndexFunc(b.all, func(e *model.Export) bool { return e.WorkflowID == id })
		b.DeliverOnce(b.all[at])
	}
	for at := range n {
		b.Status.Store(int64(status(at)))
		b.fail(fmt.Sprintf("u-%03d", at))
	}
	b.Answer = func(r *http.Request) int {
		status := int(b.Status.Load())
		if status == http.StatusOK {
			b.got = append(b.got, r.Header.Get("X-Service-UUID"))
		}
		return status
	}
	return b
}

// fail has one more export wait.
func (b *backlog) fail(key string) {
	b.T.Helper()
	e := b.Dispatched(key, "hris")
	_, _, class := b.DeliverOnce(e)
	require.NotEmpty(b.T, class)
	b.Temporal.Running[e.WorkflowID] = exporttest.Waiting()
	b.all = append(b.all, e)
	b.Advance(time.Second)
}

func fails(status int) func(int) int { return func(int) int { return status } }

// catchUp works on the catch-ups that are there to their end, and returns the one of hris.
func (b *backlog) catchUp() *model.CatchUp {
	b.T.Helper()
	b.Advance(time.Second)
	var running errgroup.Group
	require.NoError(b.T, b.Watcher.BeginRecovered(b.T.Context()))
	b.Advance(time.Second)
	require.NoError(b.T, b.Watcher.CatchUp(b.T.Context(), &running))
	require.NoError(b.T, running.Wait())
	c, err := b.Store.CatchUp(b.T.Context(), model.Place{Tenant: "acme", Integration: "hris"})
	if err != nil {
		require.ErrorIs(b.T, err, store.ErrNotFound)
		return nil
	}
	return c
}

func (b *backlog) retry() {
	b.T.Helper()
	require.NoError(b.T, b.Watcher.Retry(b.T.Context(), b.Integration(), func(*store.Tx) error { return nil }))
}

func (b *backlog) keys(from, to int) (keys []string) {
	for _, e := range b.all[from:to] {
		keys = append(keys, e.Key)
	}
	return keys
}

// The first success after failures pulls what waits for hours forward, the oldest first and a page at a time. What the
// partner refused because of the data or wants later waits on, and so does what is held.
func TestWhatWaitsFollowsTheFirstSuccess(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, 70, func(at int) int {
		switch at {
		case 5:
			return http.StatusUnprocessableEntity
		case 9:
			return http.StatusTooManyRequests
		}
		return http.StatusNotFound
	})
	require.Nil(t, b.catchUp(), "it fails")
	b.Set(model.Disabled)
	b.DeliverOnce(b.all[7])
	b.Set(model.Configured)
	refused, throttled := b.Delivery(b.all[5]), b.Delivery(b.all[9])
	b.Status.Store(http.StatusOK)
	b.DeliverOnce(b.Accept("u-new"))
	b.got = nil
	held := b.Temporal.Running[b.all[7].WorkflowID]
	c := b.catchUp()
	require.Equal(t, []any{int64(67), int64(0), "", false, true},
		[]any{c.Received, c.Failed, c.Reason, c.Asked, !c.EndedAt.IsZero()})
	require.Equal(t, []*model.Delivery{refused, throttled}, []*model.Delivery{b.Delivery(b.all[5]), b.Delivery(b.all[9])})
	require.Equal(t, model.Held, b.Delivery(b.all[7]).Outcome)
	require.Equal(t, held, b.Temporal.Running[b.all[7].WorkflowID])
	wanted := slices.DeleteFunc(b.keys(0, 70), func(key string) bool { return slices.Contains([]string{"u-005", "u-007", "u-009"}, key) })
	for page := range slices.Chunk(b.got, 32) { // in_flight is 16
		require.ElementsMatch(t, wanted[:len(page)], page)
		wanted = wanted[len(page):]
	}
	require.Len(t, b.Temporal.Hurried, 67, "each is woken once")

	b.Temporal.Hurried = nil
	b.Advance(time.Hour)
	b.catchUp()
	require.Empty(t, b.Temporal.Hurried, "nothing waits")
}

// Whoever asks for it has all attempted that waits, also what the partner refused because of the data, and past an open
// breaker.
func TestRetryAttemptsAllThatWaits(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, 20, func(at int) int {
		if at < 15 {
			return http.StatusUnprocessableEntity
		}
		return http.StatusNotFound
	})
	b.Status.Store(http.StatusInternalServerError)
	for n := range 10 {
		b.fail(fmt.Sprint("u-late-", n))
	}
	require.True(t, b.Gate(b.Integration()).BreakerOpen)
	b.Status.Store(http.StatusOK)
	b.retry()
	c := b.catchUp()
	require.Equal(t, []any{int64(30), int64(0), "", true}, []any{c.Received, c.Failed, c.Reason, c.Asked})
	require.False(t, b.Gate(b.Integration()).BreakerOpen)
	attempts, err := b.Store.ListAttempts(t.Context(), b.Delivery(b.all[0]).ID)
	require.NoError(t, err)
	require.True(t, attempts[1].Manual)
}

// A partner that still fails gets the oldest, not all: the others keep their schedule, and so does what was attempted.
func TestRetryEndsWhereThePartnerStillFails(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, 40, fails(http.StatusNotFound))
	var before []time.Time
	for _, e := range b.all {
		before = append(before, b.Delivery(e).NextAt)
	}
	b.Asked.Store(0)
	b.retry()
	c := b.catchUp()
	require.Equal(t, []any{int64(0), int64(1), "the oldest was answered 404; the other 39 keep their next attempts"},
		[]any{c.Received, c.Failed, c.Reason})
	require.EqualValues(t, 1, b.Asked.Load())
	for n, e := range b.all {
		d := b.Delivery(e)
		require.Equal(t, []any{before[n], time.Time{}}, []any{d.NextAt, d.AskedAt}, n)
	}
	require.Equal(t, 2, b.Delivery(b.all[0]).Attempts)
	require.Equal(t, "retry_stopped", model.ParseReason(c.Reason).Code)
	require.Equal(t, &model.Reason{Code: "oldest_answered", Params: map[string]string{"status": "404"}}, model.ParseReason(c.Reason).Cause)

	b.Status.Store(http.StatusOK)
	b.DeliverOnce(b.Accept("u-new"))
	require.Equal(t, c.BeganAt, b.catchUp().BeganAt, "one that takes some and fails with others recovers all the time")
	b.Advance(5 * time.Minute)
	c = b.catchUp()
	require.Equal(t, []any{int64(40), int64(0)}, []any{c.Received, c.Failed})
}

// What the partner refuses because of the data says nothing about the others: the next one is tried.
func TestRetryGoesOnAfterRefusedData(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, 6, fails(http.StatusUnprocessableEntity))
	statuses := map[string]int{"u-000": http.StatusUnprocessableEntity, "u-001": http.StatusBadRequest}
	b.Answer = func(r *http.Request) int {
		return cmp.Or(statuses[r.Header.Get("X-Service-UUID")], int(b.Status.Load()))
	}
	b.Status.Store(http.StatusServiceUnavailable)
	b.retry()
	c := b.catchUp()
	require.Equal(t, []any{int64(0), int64(3), "one was answered 503; the other 3 keep their next attempts"},
		[]any{c.Received, c.Failed, c.Reason})
	b.Status.Store(http.StatusOK)
	b.retry()
	c = b.catchUp()
	require.Equal(t, []any{int64(4), int64(2), ""}, []any{c.Received, c.Failed, c.Reason})

	b.Partner.Close()
	statuses["u-000"] = 0
	b.fail("u-last")
	b.retry()
	c = b.catchUp()
	require.Regexp(t, `^the oldest was not received: no connection .+; the other 2 keep their next attempts$`, c.Reason)
	why := model.ParseReason(c.Reason)
	require.Equal(t, []string{"2", "oldest_not_received", "no_connection"},
		[]string{why.Params["left"], why.Cause.Code, why.Cause.Cause.Code})
}

// An attempt by hand neither moves the next attempt nor lengthens the gap that follows that one.
func TestAttemptsByHandKeepThePlaceInTheSchedule(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(*backlog){
		"try all": func(b *backlog) { b.retry(); b.catchUp() },
		"try now": func(b *backlog) {
			hurried, err := b.Watcher.Redeliver(b.T.Context(), "acme", "u-000", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
			require.NoError(b.T, err)
			require.Equal(b.T, []string{"hris"}, hurried.Hurried)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBacklog(t, 0, nil)
			tenant := b.Config.Tenants["acme"]
			tenant.Integrations = tenant.Integrations[:1]
			b.Integration().Retry = []time.Duration{20 * time.Minute, time.Hour, 5 * time.Hour}
			b.Status.Store(http.StatusServiceUnavailable)
			b.fail("u-000")
			e := b.all[0]
			planned := b.Delivery(e).NextAt
			for n := range 3 {
				by(b)
				d := b.Delivery(e)
				require.Equal(t, []any{2 + n, planned, time.Time{}}, []any{d.Attempts, d.NextAt, d.AskedAt})
			}
			b.Advance(planned.Sub(b.Clock()))
			b.DeliverOnce(e)
			require.InDelta(t, time.Hour, b.Delivery(e).NextAt.Sub(b.Clock()), float64(12*time.Minute), "it is the second gap")
			by(b)
			b.Advance(b.Delivery(e).NextAt.Sub(b.Clock()))
			b.DeliverOnce(e)
			d := b.Delivery(e)
			require.Equal(t, 7, d.Attempts)
			require.InDelta(t, 5*time.Hour, d.NextAt.Sub(b.Clock()), float64(time.Hour))

			b.Header.Store("Retry-After", "3600")
			b.Advance(d.NextAt.Sub(b.Clock()) - time.Minute)
			by(b)
			require.Greater(t, b.Delivery(e).NextAt.Sub(b.Clock()), 55*time.Minute, "the partner said not before")
		})
	}
}

// An integration that takes nothing has nothing attempted.
func TestRetryOfADisabledIntegrationIsRefused(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, 1, fails(http.StatusNotFound))
	b.Set(model.Disabled)
	err := b.Watcher.Retry(t.Context(), b.Integration(), func(*store.Tx) error { return nil })
	require.ErrorContains(t, err, "hris is disabled")
	b.Set(model.Configured)
	b.retry()
	b.Set(model.Disabled)
	require.Contains(t, b.catchUp().Reason, "hris is disabled")
	require.Equal(t, 1, b.Delivery(b.all[0]).Attempts)
}

// What a node made due that died before it woke it is woken by another one.
func TestAnotherNodeGoesOnWithACatchUp(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, 3, fails(http.StatusNotFound))
	b.Status.Store(http.StatusOK)
	temporal := b.Watcher.Reconciler.Client
	b.Watcher.Reconciler.Client = exporttest.EngineClient{Service: new(exporttest.Away)}
	b.retry()
	require.Zero(t, b.catchUp().EndedAt)
	require.Zero(t, b.Delivery(b.all[0]).Due(), "it is due")
	b.Watcher.Reconciler.Client = temporal
	require.Zero(t, b.catchUp().EndedAt, "the node may live")
	b.Advance(time.Minute)
	require.EqualValues(t, 3, b.catchUp().Received)
}

// A group is woken once for each page, the first of which is the oldest export, and attempts what is due.
func TestAGroupIsWokenOnceForAPage(t *testing.T) {
	t.Parallel()
	b := &backlog{LossFixture: exporttest.NewLossFixture(t)}
	b.Integration().Retry = []time.Duration{3 * time.Hour}
	all, ids := b.Grouped(50)
	b.Status.Store(http.StatusUnprocessableEntity)
	b.DeliverGroup(ids)
	b.Status.Store(http.StatusOK)
	b.Asked.Store(0)
	id := model.GroupWorkflowID(all)
	b.Temporal.Running[id] = []*workflow.PendingActivityInfo{exporttest.Waiting()[0]}
	b.Temporal.Running[id][0].ActivityId = "deliver"
	b.Temporal.Run = func(string) { b.Advance(time.Second); b.DeliverGroup(ids) }
	b.retry()
	c := b.catchUp()
	require.EqualValues(t, 50, c.Received)
	require.EqualValues(t, 50, b.Asked.Load())
	require.Equal(t, model.Delivered, b.Delivery(all[49]).Outcome)
	require.Equal(t, strings.Split(strings.Repeat(" "+id+" deliver", 3), " ")[1:],
		strings.Split(strings.Join(b.Temporal.Hurried, " "), " "))
}
