package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// One node at a time has a lease: as long as it renews that, and half a minute longer.
func TestOneNodeHasALease(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	mine, other := nodes[0].Lease("work"), nodes[1].Lease("work")
	hold := func(l *store.Lease, after time.Duration, want bool) {
		t.Helper()
		held, err := l.Hold(t.Context(), noon.Add(after))
		require.NoError(t, err)
		require.Equal(t, want, held)
	}
	hold(mine, 0, true)
	hold(other, time.Second, false)
	hold(nodes[1].Lease("other work"), time.Second, true)
	hold(mine, 9*time.Second, true)
	hold(mine, 20*time.Second, true)
	hold(other, 49*time.Second, false)
	hold(other, 51*time.Second, true)
	hold(mine, 52*time.Second, false)
}

// The process that a database is opened by after another has ended need not wait for the lease of that.
func TestLeaseOfAnExclusiveDatabase(t *testing.T) {
	t.Parallel()
	address := storetest.SQLite(t)
	for range 2 {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		held, err := db.Lease("work").Hold(t.Context(), noon)
		require.NoError(t, err)
		require.True(t, held)
		require.NoError(t, db.Close())
	}
}
