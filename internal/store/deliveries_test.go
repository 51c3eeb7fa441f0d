package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// A round that is dispatched keeps whom it delivers to, and what it did not tell of yet is pending, also in the rounds after it.
func TestPendingDeliveries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		pending := func() (names []string) {
			kept, err := db.Export(t.Context(), e.ID)
			require.NoError(t, err)
			written, err := db.Deliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range append(written, kept.Pending(written)...) {
				if d.Outcome == hiring.Pending {
					names = append(names, fmt.Sprint(d.Integration, d.Round))
				}
			}
			return names
		}
		require.Empty(t, pending(), "nobody knows to whom it will go")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.MarkDispatched(e.ID, 0, noon, "hris", "crm", "payroll"); err != nil {
				return err
			}
			return tx.PutDelivery(&hiring.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: hiring.Delivered, CreatedAt: noon, UpdatedAt: noon})
		}))
		require.Equal(t, []string{"crm0", "payroll0"}, pending())
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.NextRound(e.ID, []string{"hris", "payroll"}, noon, noon.Add(time.Hour))
			return err
		}))
		require.Equal(t, []string{"crm0"}, pending(), "what is begun anew is not pending in the round before")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "hris", "payroll") }))
		require.Equal(t, []string{"crm0", "hris1", "payroll1"}, pending())
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "payroll", "payroll") }))
		require.Equal(t, []string{"crm0", "payroll1"}, pending(), "what was named twice is delivered to twice")
	})
}
