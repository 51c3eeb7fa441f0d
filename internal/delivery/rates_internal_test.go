package delivery

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func limited(inFlight int, perSecond float64) *model.Integration {
	return &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Options: model.Options{InFlight: inFlight, Rate: &model.Rate{PerSecond: perSecond, Burst: 1}}}
}

// A partner that hung is asked no more often at once than its rate says when it recovers, however many wait for it.
func TestRateHoldsAfterAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		i := limited(4, 1)
		for range 4 {
			_, closed := g.enter(t.Context(), i, 1, GroupPatience, false)
			require.Empty(t, closed)
		}
		one := g.of(i)
		var begun atomic.Int64
		for range 30 {
			go func() {
				if done, closed := g.enter(t.Context(), i, 1, GroupPatience, false); closed == "" {
					begun.Add(1)
					done(nil)
				}
			}()
		}
		time.Sleep(10 * time.Second)
		require.Zero(t, begun.Load())
		one.places.Release(4)
		time.Sleep(100 * time.Millisecond)
		require.EqualValues(t, 1, begun.Load())
		time.Sleep(4 * time.Second)
		require.EqualValues(t, 5, begun.Load(), "the rate is not used")
		time.Sleep(time.Minute)
	})
}

// A delivery whose turn by the rate comes later than it is patient does not wait for it: those behind it would.
func TestNobodyWaitsForARateInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		i := limited(1, 1./60)
		done, closed := g.enter(t.Context(), i, 1, GroupPatience, false)
		require.Empty(t, closed)
		done(nil)
		began := time.Now()
		for range 100 {
			_, closed := g.enter(t.Context(), i, 1, GroupPatience, false)
			require.Equal(t, overRate, closed)
		}
		require.Zero(t, time.Since(began))
		time.Sleep(45 * time.Second)
		done, closed = g.enter(t.Context(), i, 1, GroupPatience, false)
		require.Empty(t, closed, "its turn comes in a quarter of a minute")
		done(nil)
		require.WithinDuration(t, began.Add(time.Minute), time.Now(), time.Second)
	})
}

// What a closed breaker, or one that is tried, turns away uses nothing of the rate.
func TestBreakerUsesNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		i := limited(4, 1)
		for range model.BreakAfter {
			done, closed := g.enter(t.Context(), i, 1, GroupPatience, false)
			require.Empty(t, closed)
			done(errDown)
		}
		turnedAway := func() {
			t.Helper()
			for range 5 {
				_, closed := g.enter(t.Context(), i, 1, GroupPatience, false)
				require.Equal(t, "breaker_open", closed)
			}
		}
		turnedAway()
		time.Sleep(breakFor + time.Second)
		probe, closed := g.enter(t.Context(), i, 1, 0, false)
		require.Empty(t, closed, "the rate was used by deliveries that were turned away")
		turnedAway()
		time.Sleep(time.Second)
		turnedAway()
		require.False(t, g.state(i).OverRate)
		probe(errNotAsked)
		probe, closed = g.enter(t.Context(), i, 1, 0, false)
		require.Empty(t, closed, "one that was not asked keeps the breaker from being tried")
		probe(nil)
	})
}

// A delivery of a group leaves the queue when its patience ends: its group begins no others until it is through.
func TestQueueIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		i := limited(1, 1)
		for range lineFor {
			_, ok := g.queue(t.Context(), i, time.Minute)
			require.True(t, ok)
		}
		began := time.Now()
		_, ok := g.queue(t.Context(), i, time.Minute)
		require.False(t, ok)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// A delivery that began before its integration got a rate is turned away by that, and waits like the others.
func TestRateThatADeliveryDoesNotKnow(t *testing.T) {
	t.Parallel()
	var g gates
	before, now := limited(4, 1), time.Now()
	before.Rate = nil
	g.of(limited(4, 1))
	require.GreaterOrEqual(t, g.rateBackoff(before, 0, now), GateDelay*4/5)
	require.Less(t, g.rateBackoff(before, GroupPatience, now), 2*GateDelay)
}
