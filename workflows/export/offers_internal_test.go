package export

import (
	"context"
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

// took names what came in one turn.
func took(t *testing.T, q *offers) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	byTenant := map[string]int{}
	for _, e := range q.next(ctx) {
		byTenant[e.Tenant]++
	}
	return fmt.Sprint(byTenant)
}

func TestFewOffersAreStartedOneByOne(t *testing.T) {
	t.Parallel()
	q := newOffers(1000)
	offered(t, q, "acme", groupFrom-2, 0)
	offered(t, q, "globex", 1, 0)
	require.Equal(t, "map[acme:1]", took(t, q))
	require.Equal(t, "map[globex:1]", took(t, q), "tenants take turns")
	for range groupFrom - 3 {
		require.Equal(t, "map[acme:1]", took(t, q))
	}
	require.Equal(t, "map[]", took(t, q))
}

func TestTenantsTakeTurnsAtTheStarters(t *testing.T) {
	t.Parallel()
	q := newOffers(1000)
	offered(t, q, "acme", groupMost+50, 0)
	offered(t, q, "globex", groupFrom, 0)
	offered(t, q, "initech", 1, 0)
	offered(t, q, "umbrella", 2, 0)
	require.Equal(t, fmt.Sprintf("map[acme:%d]", groupMost), took(t, q))
	require.Equal(t, fmt.Sprintf("map[globex:%d]", groupFrom), took(t, q))
	require.Equal(t, "map[initech:1 umbrella:2]", took(t, q), "those with little share one")
	require.Equal(t, "map[acme:50]", took(t, q))
}

// A starter that finds a group waits for more of it: not when it is full, not for long, and not when the gateway stops.
func TestStarterGathersAGroup(t *testing.T) {
	for name, c := range map[string]struct {
		waiting, later int  // exports: at once, and after 50 ms
		stops          bool // after 50 ms
		took           int
		after          time.Duration
	}{
		"few":              {groupFrom - 1, 5, false, 1, 0},
		"a full group":     {groupMost, 5, false, groupMost, 0},
		"some":             {groupFrom, 5, false, groupFrom + 5, 100 * time.Millisecond},
		"until it is full": {groupFrom, groupMost, false, groupMost, 50 * time.Millisecond},
		"stopping":         {groupFrom, 0, true, groupFrom, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				q := newOffers(1000)
				offered(t, q, "acme", c.waiting, 0)
				time.AfterFunc(50*time.Millisecond, func() {
					offered(t, q, "acme", c.later, 0)
					if c.stops {
						stop()
					}
				})
				began := time.Now()
				require.Len(t, q.next(ctx), c.took)
				require.Equal(t, c.after, time.Since(began))
			})
		})
	}
}

func TestManyTenantsShareGroups(t *testing.T) {
	t.Parallel()
	q := newOffers(1000)
	for n := range 300 {
		offered(t, q, fmt.Sprint("tenant-", n), 1, 0)
	}
	require.Len(t, q.take(), groupMost)
	require.Len(t, q.take(), 300-groupMost)
}

// A redelivery has a workflow of its own.
func TestLaterRoundsAreNotGrouped(t *testing.T) {
	t.Parallel()
	q := newOffers(1000)
	offered(t, q, "acme", 20, 0)
	offered(t, q, "acme", 2, 1)
	offered(t, q, "acme", 20, 0)
	for _, want := range []int{20, 1, 1, 20} {
		require.Len(t, q.take(), want)
	}
}

// Thousands may be released at once. They take no room from what comes in.
func TestReleasedExportsAreOfferedWhileFewWait(t *testing.T) {
	t.Parallel()
	d := new(Dispatcher)
	for n := range 100 {
		d.Offer(&model.Export{ID: int64(n + 1), Tenant: "acme", Round: 1})
	}
	require.Equal(t, groupFrom, d.queue.count())
	d.Offer(&model.Export{ID: 1000, Tenant: "acme"})
	require.Equal(t, groupFrom+1, d.queue.count())
}

func TestOffersHaveRoomForEachTenant(t *testing.T) {
	t.Parallel()
	q := newOffers(8)
	offered(t, q, "acme", 4, 0)
	require.False(t, q.add(&model.Export{Tenant: "acme"}), "it holds as many as are free")
	offered(t, q, "globex", 2, 0)
	require.Equal(t, "map[acme:1]", took(t, q))
}
