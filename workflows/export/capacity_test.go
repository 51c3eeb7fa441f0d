package export_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// slow is a partner that answers nothing before it is released.
type slow struct {
	*httptest.Server
	release chan struct{}
	mu      sync.Mutex
	held    int // requests that wait for their answer
	bytes   int // of their bodies
	most    int // that those came to
	left    int // requests whose sender did not wait for the answer
}

func newSlow(t *testing.T) *slow {
	s := &slow{release: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *slow) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.count(1, len(body))
	defer s.count(-1, -len(body))
	select {
	case <-s.release:
	case <-r.Context().Done():
		s.mu.Lock()
		s.left++
		s.mu.Unlock()
	}
}

func (s *slow) count(requests, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += requests
	s.bytes += bytes
	s.most = max(s.most, s.bytes)
}

func (s *slow) now() (held, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, s.left
}

// A tenant whose partners answer slowly, be it one that may have a thousand attempts under way or twenty with a few each, keeps half of
// the places free for others, and keeps none of the worker's slots beyond its places.
func TestSlowPartnersHoldUpNoOtherTenant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                            string
		integrations, inFlight, exports int
	}{
		{"one integration with a thousand attempts", 1, 1000, 40},
		{"twenty integrations", 20, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			partner := newSlow(t)
			b.Config.Tenants = map[string]*model.Tenant{}
			for n := range c.integrations {
				b.Declare("acme", fmt.Sprint("hris-", n), partner.URL, c.inFlight)
			}
			b.Declare("globex", "hris", b.Partner.URL, 0)
			b.Capacity, b.Now = delivery.NewCapacity(8, delivery.BytesAtOnce), time.Now
			d := b.Work(16)
			t.Cleanup(func() { close(partner.release) }) // before the worker is stopped, which waits for its attempts
			for n := range c.exports {
				e := b.TakeFor("acme", fmt.Sprint("u-", n), `{}`, fromNow)
				d.Offer(e)
				b.Becomes(e, exporttest.Started)
			}
			require.Eventually(t, func() bool { held, _ := partner.now(); return held == 4 }, time.Minute, 20*time.Millisecond)
			for n := range 20 {
				d.Offer(b.TakeFor("globex", fmt.Sprint("u-", n), `{}`, fromNow))
			}
			require.Eventually(t, func() bool { return b.Asked.Load() == 20 }, time.Minute, 20*time.Millisecond)
			held, left := partner.now()
			require.Equal(t, []int{4, 0}, []int{held, left}, "the others were delivered once some of these had ended")
		})
	}
}

// fromNow lets an export have its time from now on, by the machine's clock.
func fromNow(e *model.Export) { e.DeliverTill = time.Now().Add(model.DeliveryWindow) }

// Bodies that are under way take no more than there is room for, and of that no tenant more than half. What found no room is delivered
// later, and none of it was an attempt.
func TestBytesUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	const room, size = 64_000, 5_000
	b := exporttest.NewFixture(t)
	partner := newSlow(t)
	b.Capacity = delivery.NewCapacity(delivery.AttemptsAtOnce, room)
	b.Config.Tenants = map[string]*model.Tenant{}
	var waiting []*model.Export
	for _, tenant := range []string{"acme", "globex"} {
		b.Declare(tenant, "hris", partner.URL, 1000)
		for n := range 20 {
			waiting = append(waiting, b.TakeFor(tenant, fmt.Sprint("u-", n), string(bytes.Repeat([]byte(" "), size)), func(*model.Export) {}))
		}
	}
	large := b.TakeFor("acme", "large", string(bytes.Repeat([]byte(" "), room/2+1)), func(*model.Export) {})

	var group sync.WaitGroup
	var away atomic.Int64
	var later []*model.Export
	var mu sync.Mutex
	for n, e := range waiting {
		group.Go(func() {
			res, wait, class := b.DeliverOnce(e)
			if wait == 0 {
				if res.Class != model.ClassDelivered || res.Attempts != 1 {
					t.Errorf("%+v", res)
				}
				return
			}
			if class != "no_memory" || wait > 3*time.Second {
				t.Errorf("%s after %v", class, wait)
			}
			mu.Lock()
			defer mu.Unlock()
			later = append(later, e)
			away.Add(1)
		})
		require.Eventually(t, func() bool { held, _ := partner.now(); return held+int(away.Load()) == n+1 }, time.Minute, time.Millisecond)
	}
	held, _ := partner.now()
	require.GreaterOrEqual(t, held, 2*room/3/size-1, "two that take all they can get have a third each")
	_, _, class := b.DeliverOnce(large)
	require.Equal(t, "no_memory", class)
	close(partner.release)
	group.Wait()
	for _, e := range append(later, large) {
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}, res)
	}
	require.LessOrEqual(t, partner.most, room)
}

// Exports of a burst, in groups and single ones, go out at the rate of their integration. None of them fails or uses up
// an attempt meanwhile.
func TestRateOfAnIntegrationIsHeld(t *testing.T) {
	t.Parallel()
	const exports, perSecond, burst = 120, 20, 5
	b := exporttest.NewFixture(t)
	var mu sync.Mutex
	var came []time.Time
	b.Answer = func(*http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		came = append(came, time.Now())
		return http.StatusOK
	}
	b.Integration().Rate = &model.Rate{PerSecond: perSecond, Burst: burst}
	b.Now = time.Now
	d := b.Work(16)
	began := time.Now()
	var all []*model.Export
	for n := range exports {
		e := b.TakeFor("acme", fmt.Sprint("u-", n), `{}`, fromNow)
		all = append(all, e)
		d.Offer(e)
	}
	for _, e := range all {
		require.Eventually(t, func() bool {
			d, err := b.Store.Delivery(t.Context(), e.ID, "hris", 0)
			return err == nil && d.Outcome == model.Delivered && d.Attempts == 1
		}, 2*time.Minute, 20*time.Millisecond)
	}
	for n, at := range came {
		require.LessOrEqual(t, float64(n+1), burst+perSecond*at.Sub(began).Seconds(), "attempts by then")
	}
	require.Len(t, came, exports)
	t.Logf("%d attempts in %s", exports, came[exports-1].Sub(began))
}
