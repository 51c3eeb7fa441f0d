package dispatch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func offered(t *testing.T, q *offers, tenant string, n, round int) {
	t.Helper()
	for range n {
		require.True(t, q.add(&model.Export{Tenant: tenant, Round: round}))
	}
}

// took names what comes in the next turn, once it may be started.
func took(q *offers) string {
	byTenant := map[string]int{}
	batch, _ := q.take(q.clock.next)
	for _, e := range batch {
		byTenant[e.Tenant]++
	}
	return fmt.Sprint(byTenant)
}

func TestTenantsTakeTurnsAtTheStarters(t *testing.T) {
	t.Parallel()
	q := newOffers(1000)
	offered(t, q, "acme", groupMost+ownGroupFrom, 0)
	offered(t, q, "globex", ownGroupFrom, 0)
	offered(t, q, "initech", 1, 0)
	offered(t, q, "umbrella", ownGroupFrom-1, 0)
	require.Equal(t, fmt.Sprintf("map[acme:%d]", groupMost), took(q))
	require.Equal(t, fmt.Sprintf("map[globex:%d]", ownGroupFrom), took(q))
	require.Equal(t, fmt.Sprintf("map[initech:1 umbrella:%d]", ownGroupFrom-1), took(q), "those with little share one")
	require.Equal(t, fmt.Sprintf("map[acme:%d]", ownGroupFrom), took(q))
	require.Equal(t, "map[]", took(q))
}

// All starters have one clock. It holds up no export that comes alone, and no full group.
func TestStartersHaveOneClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newOffers(10_000)
		type start struct {
			n     int
			after time.Duration
		}
		starts, began := make(chan start, 100), time.Now()
		for range starters {
			go func() {
				for batch := q.next(t.Context()); batch != nil; batch = q.next(t.Context()) {
					starts <- start{len(batch), time.Since(began)}
				}
			}()
		}
		next := func() start {
			synctest.Wait()
			return <-starts
		}
		offered(t, q, "acme", 1, 0)
		require.Equal(t, start{1, 0}, next(), "an export alone")
		offered(t, q, "acme", 1, 0)
		time.Sleep(5 * time.Millisecond)
		offered(t, q, "globex", 2, 0)
		soon := next()
		require.Equal(t, 3, soon.n, "what came until the clock let it")
		require.InDelta(t, float64(startsApart), float64(soon.after), float64(time.Millisecond))
		offered(t, q, "acme", 3*groupMost+1, 0)
		for range 3 {
			require.Equal(t, start{groupMost, soon.after}, next(), "a full group")
		}
		rest := next()
		require.Equal(t, 1, rest.n)
		require.InDelta(t, float64(soon.after+startsApartMost), float64(rest.after), float64(time.Millisecond), "after many")
		time.Sleep(10 * time.Second)
		began = time.Now()
		offered(t, q, "acme", 1, 0)
		require.Equal(t, start{1, 0}, next(), "an export alone")
	})
}

func TestManyTenantsShareGroups(t *testing.T) {
	t.Parallel()
	q := newOffers(1000)
	for n := range 300 {
		offered(t, q, fmt.Sprint("tenant-", n), 1, 0)
	}
	for _, want := range []int{groupMost, 300 - groupMost} {
		batch, _ := q.take(q.clock.next)
		require.Len(t, batch, want)
	}
}

// A redelivery has a workflow of its own, and so has an export alone. Those beside it are a group.
func TestLaterRoundsAreNotGrouped(t *testing.T) {
	t.Parallel()
	for rounds, want := range map[string][2]int{"0": {0, 1}, "00": {2, 0}, "01": {0, 2}, "1": {0, 1}, "0101": {2, 2}} {
		var exports []*model.Export
		for _, round := range rounds {
			exports = append(exports, &model.Export{Round: int(round - '0')})
		}
		together, alone := grouped(exports)
		require.Equal(t, want, [2]int{len(together), len(alone)}, rounds)
	}
}

// Thousands may be released at once. They take no room from what comes in.
func TestReleasedExportsAreOfferedWhileFewWait(t *testing.T) {
	t.Parallel()
	d := new(Dispatcher)
	for n := range 100 {
		d.Offer(&model.Export{ID: int64(n + 1), Tenant: "acme", Round: 1})
	}
	require.Equal(t, releasedMost, d.queue.count())
	d.Offer(&model.Export{ID: 1000, Tenant: "acme"})
	require.Equal(t, releasedMost+1, d.queue.count())
}

func TestOffersHaveRoomForEachTenant(t *testing.T) {
	t.Parallel()
	q := newOffers(8)
	offered(t, q, "acme", 4, 0)
	require.False(t, q.add(&model.Export{Tenant: "acme"}), "it holds as many as are free")
	offered(t, q, "globex", 2, 0)
	require.Equal(t, "map[acme:4 globex:2]", took(q))
}
