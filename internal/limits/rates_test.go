package gateway

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func limited(name string, perSecond float64, burst int) *model.Tenant {
	return &model.Tenant{Name: name, Rate: &model.Rate{PerSecond: perSecond, Burst: burst}}
}

func TestRate(t *testing.T) {
	t.Parallel()
	var r Rates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	acme := limited("acme", 2, 3)
	for range 3 {
		require.Zero(t, r.Take(acme, now), "the burst")
	}
	require.Equal(t, 500*time.Millisecond, r.Take(acme, now))
	require.Equal(t, 500*time.Millisecond, r.Take(acme, now), "a refused export was counted")
	require.Zero(t, r.Take(limited("globex", 2, 1), now), "another tenant's")

	now = now.Add(499 * time.Millisecond)
	require.Equal(t, time.Millisecond, r.Take(acme, now))
	now = now.Add(time.Millisecond)
	require.Zero(t, r.Take(acme, now))
	require.NotZero(t, r.Take(acme, now))

	now = now.Add(time.Hour)
	for range 3 {
		require.Zero(t, r.Take(acme, now))
	}
	require.NotZero(t, r.Take(acme, now), "more than the burst was saved up")
}

func TestNoRateIsNoLimit(t *testing.T) {
	t.Parallel()
	var r Rates
	for range 10_000 {
		require.Zero(t, r.Take(&model.Tenant{Name: "acme"}, time.Time{}))
	}
}

// A reload makes the tenant anew. What it has used up stays used up, unless its rate is another one.
func TestRateAcrossReloads(t *testing.T) {
	t.Parallel()
	var r Rates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	require.Zero(t, r.Take(limited("acme", 1, 1), now))
	require.Equal(t, time.Second, r.Take(limited("acme", 1, 1), now), "the reload gave it another burst")
	require.Zero(t, r.Take(limited("acme", 1, 2), now))
	require.Zero(t, r.Take(limited("acme", 1, 2), now))
	require.Equal(t, time.Second, r.Take(limited("acme", 1, 2), now))
	require.Zero(t, r.Take(limited("acme", 10, 2), now))
}

func TestRateOfManyAtOnce(t *testing.T) {
	t.Parallel()
	var r Rates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var taken atomic.Int64
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			for range 100 {
				if r.Take(limited("acme", .001, 50), now) == 0 {
					taken.Add(1)
				}
			}
		})
	}
	senders.Wait()
	require.EqualValues(t, 50, taken.Load())
}
