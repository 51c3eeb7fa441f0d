package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Exports are found by the answer to the last attempt, and by how many there were, together with all else.
func TestExportsByTheirLastAnswer(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		names := map[int64]string{}
		put := func(tenant, name string, outcome model.Outcome, attempts, status int) int64 {
			e := export(tenant, name, name)
			require.True(t, insert(t, db, e))
			names[e.ID] = name
			d := &model.Delivery{ExportID: e.ID, Tenant: tenant, Integration: "hris", Outcome: outcome, Attempts: attempts, Status: status,
				CreatedAt: noon, UpdatedAt: noon}
			if outcome != model.Delivered && outcome != model.Pending {
				d.Fault = model.ClassPartnerFault
			}
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertDelivery(d) }))
			return e.ID
		}
		for n := range 3 {
			put("acme", fmt.Sprint("away", n), model.Retrying, n+1, 503)
		}
		put("acme", "broken", model.Retrying, 2, 500)
		put("acme", "silent", model.Retrying, 7, 0)
		put("acme", "odd", model.Retrying, 8, 999)
		put("acme", "refused", model.Failed, 1, 422)
		put("acme", "new", model.Pending, 0, 0)
		put("acme", "removed", model.Failed, 0, 0)
		put("acme", "received", model.Delivered, 4, 200)
		put("globex", "theirs", model.Retrying, 2, 503)
		again := put("acme", "again", model.Failed, 2, 503)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { // a redelivery arrived
			return tx.UpsertDelivery(&model.Delivery{ExportID: again, Tenant: "acme", Integration: "hris", Round: 1, Outcome: model.Delivered,
				Attempts: 1, Status: 200, CreatedAt: noon, UpdatedAt: noon})
		}))

		listed := func(f store.ExportFilter) (all []string) {
			for f.Limit = 2; ; {
				page, next, err := db.ListExports(t.Context(), f)
				require.NoError(t, err)
				for _, e := range page {
					all = append(all, names[e.ID])
				}
				if f.Cursor = next; next == 0 {
					break
				}
			}
			n, more, err := db.CountExports(t.Context(), f)
			require.NoError(t, err)
			require.Equal(t, []any{int64(len(all)), false}, []any{n, more})
			if !f.Oldest {
				slices.Reverse(all)
			}
			return all
		}
		acme := func(f store.ExportFilter) []string {
			f.Tenant = "acme"
			return listed(f)
		}
		require.Equal(t, []string{"away0", "away1", "away2"}, acme(store.ExportFilter{Status: "503"}))
		require.Equal(t, []string{"away0", "away1", "away2", "broken"}, acme(store.ExportFilter{Status: "5xx", Oldest: true}))
		require.Equal(t, []string{"silent"}, acme(store.ExportFilter{Status: "none"}))
		require.Equal(t, []string{"away2", "silent", "odd"}, acme(store.ExportFilter{Attempts: 3}))
		require.Equal(t, []string{"away1", "away2", "broken"}, acme(store.ExportFilter{Attempts: 2, Status: "5xx"}))
		require.Equal(t, []string{"refused"}, acme(store.ExportFilter{Status: "4xx", Outcome: model.Failed}))
		require.Empty(t, acme(store.ExportFilter{Status: "4xx", Outcome: model.Retrying}))
		require.Empty(t, acme(store.ExportFilter{Status: "503", Integration: "crm"}))
		require.Empty(t, acme(store.ExportFilter{Status: "503", Quarantined: true}))
		require.Equal(t, []string{"away0", "away1", "away2"}, acme(store.ExportFilter{Status: "503", Undelivered: true, Integration: "hris"}))
		require.Equal(t, []string{"away0", "away1", "away2", "theirs"}, listed(store.ExportFilter{Status: "503"}))
		require.Empty(t, listed(store.ExportFilter{Status: "503", Until: noon.Add(-time.Hour)})) // ids follow the latest clock of the process
	})
}
