package limits_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/limits"
	"github.com/hiregate/hiregate/internal/model"
)

func limited(name string, perSecond float64, burst int) *model.Tenant {
	return &model.Tenant{Name: name, Rate: &model.Rate{PerSecond: perSecond, Burst: burst}}
}

func take(r *limits.Rates, t *model.Tenant, now time.Time) time.Duration {
	return r.Take(t.Name, t.Rate, now)
}

func TestRate(t *testing.T) {
	t.Parallel()
	var r limits.Rates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	acme := limited("acme", 2, 3)
	for range 3 {
		require.Zero(t, take(&r, acme, now), "the burst")
	}
	require.Equal(t, 500*time.Millisecond, take(&r, acme, now))
	require.Equal(t, 500*time.Millisecond, take(&r, acme, now), "a refused export was counted")
	require.Zero(t, take(&r, limited("globex", 2, 1), now), "another tenant's")

	now = now.Add(499 * time.Millisecond)
	require.Equal(t, time.Millisecond, take(&r, acme, now))
	now = now.Add(time.Millisecond)
	require.Zero(t, take(&r, acme, now))
	require.NotZero(t, take(&r, acme, now))

	now = now.Add(time.Hour)
	for range 3 {
		require.Zero(t, take(&r, acme, now))
	}
	require.NotZero(t, take(&r, acme, now), "more than the burst was saved up")
}

func TestNoRateIsNoLimit(t *testing.T) {
	t.Parallel()
	var r limits.Rates
	for range 10_000 {
		require.Zero(t, take(&r, &model.Tenant{Name: "acme"}, time.Time{}))
	}
}

// A reload makes the tenant anew. What it has used up stays used up, unless its rate is another one.
func TestRateAcrossReloads(t *testing.T) {
	t.Parallel()
	var r limits.Rates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	require.Zero(t, take(&r, limited("acme", 1, 1), now))
	require.Equal(t, time.Second, take(&r, limited("acme", 1, 1), now), "the reload gave it another burst")
	require.Zero(t, take(&r, limited("acme", 1, 2), now))
	require.Zero(t, take(&r, limited("acme", 1, 2), now))
	require.Equal(t, time.Second, take(&r, limited("acme", 1, 2), now))
	require.Zero(t, take(&r, limited("acme", 10, 2), now))
}

func TestRateOfManyAtOnce(t *testing.T) {
	t.Parallel()
	var r limits.Rates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var taken atomic.Int64
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			for range 100 {
				if take(&r, limited("acme", .001, 50), now) == 0 {
					taken.Add(1)
				}
			}
		})
	}
	senders.Wait()
	require.EqualValues(t, 50, taken.Load())
}
