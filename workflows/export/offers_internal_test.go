package export

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

// However many exports of a tenant wait for their workflow, those of another have each second turn, and there is room for them.
func TestTenantsTakeTurnsAtTheStarters(t *testing.T) {
	t.Parallel()
	q := newOffers(16)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for id := range int64(100) {
		q.add(&hiring.Export{ID: id, Tenant: "acme"}, now)
	}
	require.Len(t, q.queued, 8, "one alone gets half of the room")
	for id := range int64(3) {
		q.add(&hiring.Export{ID: 100 + id, Tenant: "globex"}, now)
	}
	var order []int64
	for len(q.queued) > 0 {
		<-q.queued
		order = append(order, q.next().export.ID)
	}
	require.Equal(t, []int64{0, 100, 1, 101, 2, 102, 3, 4, 5, 6, 7}, order)
	q.add(&hiring.Export{ID: 200, Tenant: "acme"}, now)
	<-q.queued
	require.EqualValues(t, 200, q.next().export.ID)
	require.Zero(t, q.room.Used())
	require.Empty(t, q.waiting)
}
