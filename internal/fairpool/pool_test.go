package fairpool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hiregate/hiregate/internal/fairpool"
)

func TestATenantAloneGetsHalf(t *testing.T) {
	t.Parallel()
	p := fairpool.NewPool(8)
	for range 4 {
		require.True(t, p.TryAcquire("acme", 1))
	}
	require.False(t, p.TryAcquire("acme", 1), "it holds as many as are free")
	require.True(t, p.TryAcquire("globex", 2))
	require.False(t, p.TryAcquire("globex", 1))
	p.Release("acme", 4)
	require.True(t, p.TryAcquire("globex", 1))
	require.EqualValues(t, 3, p.Used())
}

// However tenants take and give, the pool never holds more than its capacity, and a tenant that holds nothing finds
// room for one unit as long as one is free.
func TestPoolIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(1, 50).Draw(t, "capacity")
		p := fairpool.NewPool(capacity)
		held := map[string]int64{}
		var sum int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tenant := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tenant")
			if held[tenant] > 0 && rapid.Bool().Draw(t, "give") {
				p.Release(tenant, held[tenant])
				sum -= held[tenant]
				held[tenant] = 0
				continue
			}
			units := rapid.Int64Range(1, 10).Draw(t, "units")
			fits := held[tenant]+units <= capacity-sum
			if p.TryAcquire(tenant, units) != fits {
				t.Fatalf("%s holds %d of %d, %d are taken: TryTake(%d) must be %t", tenant, held[tenant], capacity, sum, units,
					fits)
			}
			if fits {
				held[tenant] += units
				sum += units
			}
			if p.Used() != sum || sum > capacity {
				t.Fatalf("%d of %d are taken, Used says %d", sum, capacity, p.Used())
			}
		}
	})
}

func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fairpool.NewPool(4)
		require.True(t, p.TryAcquire("acme", 2))
		require.False(t, p.Acquire(t.Context(), "acme", 1, time.Second), "acme holds half")
		require.True(t, p.Acquire(t.Context(), "globex", 1, 0), "acme's wait holds up nobody")
		time.AfterFunc(time.Second, func() { p.Release("acme", 2) })
		began := time.Now()
		require.True(t, p.Acquire(t.Context(), "acme", 1, time.Minute))
		require.Equal(t, time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, p.Acquire(ctx, "acme", 4, time.Minute))
		require.EqualValues(t, 2, p.Used())
	})
}

func TestResize(t *testing.T) {
	t.Parallel()
	p := fairpool.NewPool(8)
	require.True(t, p.TryAcquire("acme", 4))
	p.Resize(4)
	require.False(t, p.TryAcquire("globex", 1), "more is taken than there is")
	p.Release("acme", 2)
	require.True(t, p.TryAcquire("globex", 1))
	p.Resize(8)
	require.True(t, p.TryAcquire("globex", 3))
}
