package export_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// tallying is a partner that counts how often it gets each export, and runs outage once it has got a number of them.
type tallying struct {
	mu     sync.Mutex
	got    map[string]int
	outage func()
	after  int
}

func (c *tallying) answer(r *http.Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) == c.after {
		c.outage()
	}
	c.got[r.Header.Get("X-Service-UUID")]++
	return http.StatusOK
}

// most is how often the partner got the export that it got most often.
func (c *tallying) most() (most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.got {
		most = max(most, n)
	}
	return most
}

const (
	firstUnstored = "the outcome of an attempt could not be stored; it is tried again, and no attempt begins before the " +
		"store can be written"
	stillUnstored = "the outcome of an attempt could still not be stored"
)

// outage runs a group through an outage of the store that begins in the middle of it, and lasts until what was sent could
// not be stored for often enough. The clock goes on meanwhile.
func outage(t *testing.T, b *exporttest.Fixture, begin, end func()) {
	const members, inFlight = 40, 4
	logged := b.Observe()
	b.Integration().InFlight = inFlight
	c := &tallying{got: map[string]int{}, outage: begin, after: 10}
	b.Answer = c.answer
	all, ids := b.Grouped(members)
	deliver := func() (done chan struct{}) {
		done = make(chan struct{})
		go func() {
			defer close(done)
			b.DeliverGroup(ids)
		}()
		return done
	}
	await := func(done chan struct{}) {
		require.Eventually(t, func() bool {
			b.Advance(time.Second)
			select {
			case <-done:
				return true
			default:
				return false
			}
		}, 2*time.Minute, 10*time.Millisecond)
	}
	done := deliver()
	require.Eventually(t, func() bool {
		b.Advance(time.Second)
		return c.most() > 1 || logged.FilterMessage(stillUnstored).Len() >= 3*inFlight
	}, 2*time.Minute, 50*time.Millisecond)
	asked := b.Asked.Load()
	end()
	await(done)
	require.Equal(t, 1, c.most(), "an export was sent again before the first time was stored")
	require.Less(t, asked, int64(members*3/4), "attempts began while outcomes could not be stored")
	require.Equal(t, 1, logged.FilterMessage(firstUnstored).Len(), "the beginning is told once")
	for tries := 0; slices.ContainsFunc(all, func(e *model.Export) bool {
		d, err := b.Store.Delivery(t.Context(), e.ID, "hris", 0)
		return err != nil || d.Outcome != model.Delivered
	}); tries++ {
		require.Less(t, tries, 20)
		b.Advance(time.Minute)
		await(deliver())
	}
	require.Equal(t, 1, c.most())
	require.EqualValues(t, members, b.Asked.Load())
	require.Equal(t, 1, logged.FilterMessage("outcomes of attempts can be stored again").Len())
}

func TestNothingIsSentTwiceWhilePostgreSQLIsAway(t *testing.T) {
	t.Parallel()
	wire := storetest.NewWire(t, storetest.Postgres(t))
	b := exporttest.NewFixtureOn(t, wire.Address)
	outage(t, b, func() { wire.Sever(true) }, func() { wire.Sever(false) })
}

// The outcome of a COMMIT whose answer was lost is unknown: what it wrote is found, and not written again.
func TestAttemptWhoseCommitIsUnknownIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			wire := storetest.NewWire(t, storetest.Postgres(t))
			b := exporttest.NewFixtureOn(t, wire.Address)
			b.Status.Store(int64(status))
			e := b.Take("u-1", `{}`, func(e *model.Export) { e.Integrations = []string{"hris"} })
			b.Advance(time.Second)
			wire.LoseCommit()
			res, _, class := b.DeliverOnce(e)
			require.True(t, wire.Lost())
			if status == http.StatusOK {
				require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}, res)
			} else {
				require.Equal(t, string(model.ClassPartnerFault), class)
			}
			d := b.Delivery(e)
			require.Equal(t, 1, d.Attempts)
			attempts, err := b.Store.ListAttempts(t.Context(), d.ID)
			require.NoError(t, err)
			require.Len(t, attempts, 1)
			hours, err := b.Store.ListHours(t.Context(), model.Place{Tenant: "acme", Integration: "hris"}, time.Unix(0, 0))
			require.NoError(t, err)
			require.Len(t, hours, 1)
			require.EqualValues(t, 1, hours[0].Attempts)
		})
	}
}

// Temporal gave up waiting for an activity that could not store what it sent, and runs it again: nothing is sent, and
// what was sent first is stored.
func TestActivityIsRunAgainBeforeItsOutcomeIsStored(t *testing.T) {
	t.Parallel()
	wire := storetest.NewWire(t, storetest.Postgres(t))
	b := exporttest.NewFixtureOn(t, wire.Address)
	logged := b.Observe()
	e := b.Accept("u-1")
	var once atomic.Bool
	b.Answer = func(*http.Request) int {
		if once.CompareAndSwap(false, true) {
			wire.Sever(true)
		}
		return http.StatusOK
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		b.DeliverOnce(e)
	}()
	require.Eventually(t, func() bool { return logged.FilterMessage(stillUnstored).Len() > 0 }, time.Minute, time.Millisecond)
	_, wait, class := b.DeliverOnce(e)
	require.Equal(t, "store_unavailable", class)
	require.InDelta(t, 2, wait.Seconds(), 0.4)
	b.Advance(5 * time.Minute)
	_, wait, _ = b.DeliverOnce(e)
	require.InDelta(t, 30, wait.Seconds(), 6, "it waits the longer, the longer the store is away")
	wire.Sever(false)
	<-first
	require.Eventually(t, func() bool { // connections that were cut are noticed one by one
		res, _, _ := b.DeliverOnce(e)
		return res.Class == model.ClassDelivered
	}, time.Minute, time.Millisecond)
	require.EqualValues(t, 1, b.Asked.Load())
}
