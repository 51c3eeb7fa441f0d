package export_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

// What the store can't give says nothing of the partner: neither closes nor opens the gate to it.
func TestBreakerCountsWhatThePartnerWasAskedAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gone := b.accept("u-gone")
	var others []*hiring.Export
	for n := range 11 {
		others = append(others, b.accept(fmt.Sprint("u-", n)))
	}
	damage, err := sql.Open("sqlite3", "file:"+b.file)
	require.NoError(t, err)
	_, err = damage.Exec(`DELETE FROM export_bodies WHERE export_id = $1`, gone.ID)
	require.NoError(t, err)
	require.NoError(t, damage.Close())
	b.status.Store(500)
	for _, e := range others[:9] {
		b.deliver(e)
	}
	for range 10 {
		_, wait, class := b.deliver(gone)
		require.Equal(t, "unknown_here", class)
		require.NotZero(t, wait)
	}
	_, _, class := b.deliver(others[9])
	require.Equal(t, string(hiring.ClassPartnerFault), class, "it was closed by what never came to the partner")
	_, _, class = b.deliver(others[10])
	require.Equal(t, "breaker_open", class, "what never came to the partner was a success")
}
