package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Remarks add up until none came for the gap of their kind; then they are over, and the next one begins again.
func TestRemarks(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		add := func(kind model.RemarkKind, tenant, name string, count int64, first, last time.Time, rule string) {
			t.Helper()
			write(t, db, func(tx *store.Tx) error {
				return tx.AddRemark(model.Remark{Tenant: tenant, Kind: kind, Name: name, Count: count, First: first, Last: last,
					Rule: rule, Pointer: "/at"})
			})
		}
		list := func(kind model.RemarkKind, tenant string, now time.Time) []model.Remark {
			t.Helper()
			all, err := db.ListRemarks(t.Context(), kind, tenant, now)
			require.NoError(t, err)
			return all
		}
		minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		add(model.ExportRefused, "acme", "invalid", 2, noon, minute(1), "required")
		add(model.ExportRefused, "acme", "invalid", 3, minute(5), minute(9), "type: string")
		add(model.ExportRefused, "acme", "invalid", 1, minute(2), minute(2), "of another node")
		add(model.ExportRefused, "globex", "rate", 1, noon, noon, "")
		add(model.DeviationAccepted, "acme", "null", 7, noon, noon, "")
		invalid := model.Remark{Tenant: "acme", Kind: model.ExportRefused, Name: "invalid", Count: 6, First: noon,
			Last: minute(9), Rule: "type: string", Pointer: "/at"}
		require.Equal(t, invalid, list(model.ExportRefused, "", minute(10))[0])
		require.Len(t, list(model.ExportRefused, "", minute(10)), 2)
		require.Len(t, list(model.ExportRefused, "acme", minute(10)), 1)
		require.Len(t, list(model.DeviationAccepted, "", noon.Add(6*24*time.Hour)), 1)
		require.Empty(t, list(model.DeviationAccepted, "", noon.Add(8*24*time.Hour)))

		next := minute(10).Add(24 * time.Hour)
		require.Empty(t, list(model.ExportRefused, "acme", next))
		add(model.ExportRefused, "acme", "invalid", 1, next, next, "required")
		invalid.Count, invalid.First, invalid.Last, invalid.Rule = 1, next, next, "required"
		require.Equal(t, []model.Remark{invalid}, list(model.ExportRefused, "acme", next))

		write(t, db, func(tx *store.Tx) error {
			n, err := tx.DeleteRemarks(next.Add(5 * 24 * time.Hour))
			require.EqualValues(t, 2, n, "both refusals are over, and the deviation's week is not")
			return err
		})
		require.Len(t, list(model.DeviationAccepted, "", noon), 1)
	})
}
