package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		defer db.Close()
		noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
		key := model.Author{Actor: "k-1", Name: "CI of the HR team"}
		insert := func(at time.Time, action, tenant, object string) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.InsertAudit(model.AuditEntry{At: at, Author: key, Action: action, Tenant: tenant,
					Object: object})
			}))
		}
		insert(noon, "release", "acme", "exports/u-1")
		insert(noon.Add(time.Hour), "erase", "acme", "exports/u-1")
		insert(noon.Add(2*time.Hour), "erase", "globex", "exports/u-2")
		insert(noon.Add(3*time.Hour), "set", "", "users/7")
		list := func(f store.AuditFilter) (found []string) {
			for {
				page, next, err := db.ListAudit(t.Context(), f)
				require.NoError(t, err)
				for _, e := range page {
					found = append(found, e.Action+" "+e.Object)
				}
				if f.Before = next; next == (store.AuditCursor{}) {
					return found
				}
			}
		}
		all := []string{"set users/7", "erase exports/u-2", "erase exports/u-1", "release exports/u-1"}
		for _, limit := range []int{0, 1, 3} {
			require.Equal(t, all, list(store.AuditFilter{Limit: limit}))
		}
		require.Equal(t, all[2:], list(store.AuditFilter{Tenant: "acme"}))
		require.Equal(t, all[2:3], list(store.AuditFilter{Tenant: "acme", Action: "erase", Object: "exports/u-1"}))
		require.Equal(t, all[1:3], list(store.AuditFilter{Action: "erase"}))
		require.Equal(t, all[:1], list(store.AuditFilter{Object: "users/7"}))
		require.Equal(t, all[1:3], list(store.AuditFilter{Since: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour)}))
		page, _, err := db.ListAudit(t.Context(), store.AuditFilter{Tenant: "acme", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []model.AuditEntry{{ID: page[0].ID, At: noon.Add(time.Hour), Author: key, Action: "erase",
			Tenant: "acme", Object: "exports/u-1"}}, page)

		write(t, db, func(tx *store.Tx) error {
			deleted, err := tx.DeleteAudit(noon.Add(time.Hour))
			require.EqualValues(t, 1, deleted)
			return err
		})
		require.Equal(t, all[:3], list(store.AuditFilter{}))
	})
}
