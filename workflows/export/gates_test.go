package export_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// What the store can't give says nothing of the partner: neither closes nor opens the gate to it.
func TestBreakerCountsWhatThePartnerWasAskedAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gone := b.take("u-gone", `{}`, func(e *hiring.Export) { e.DeliverTill = noon.Add(time.Minute) })
	var others []*hiring.Export
	for n := range 11 {
		others = append(others, b.accept(fmt.Sprint("u-", n)))
	}
	b.dispatch(gone)
	b.deliver(gone)
	b.advance(time.Hour)
	erased := false
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
		erased, err = tx.Erase(gone.ID, b.Clock(), b.Clock())
		return err
	}))
	require.True(t, erased)
	gone.Round, gone.DeliverTill = 1, b.Clock().Add(time.Hour)
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
