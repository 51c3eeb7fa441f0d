package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Exports are found by the begin of their key, over all tenants or in one, up to a page.
func TestExportsAreFoundByTheBeginOfTheirKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		defer db.Close()
		find := func(f store.ExportFilter) (found []string) {
			page, next, err := db.ListExports(t.Context(), f)
			require.NoError(t, err)
			require.Zero(t, next)
			for _, e := range page {
				found = append(found, e.Tenant+"/"+e.Key)
			}
			slices.Sort(found)
			return found
		}
		require.Empty(t, find(store.ExportFilter{Prefix: "6f1c0f1e"}), "no tenant has an export")
		at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for n, key := range []string{"6f1c0f1e-1", "6f1c0f1e-2", "6f1c0f1e~", "6f1c0f1f-1", "6F1C0F1E-1"} {
				for _, tenant := range []string{"acme", "globex", "initech"}[:1+n%3] {
					if _, err := inbox.Insert(tx, inbox.NewExport(tenant, key, []byte(fmt.Sprint(tenant, key)), at)); err != nil {
						return err
					}
				}
			}
			return nil
		}))
		all := []string{"acme/6f1c0f1e-1", "acme/6f1c0f1e-2", "acme/6f1c0f1e~", "globex/6f1c0f1e-2", "globex/6f1c0f1e~",
			"initech/6f1c0f1e~"}
		require.Equal(t, all, find(store.ExportFilter{Prefix: "6f1c0f1e"}))
		require.Equal(t, all[3:5], find(store.ExportFilter{Prefix: "6f1c0f1e", Tenant: "globex"}))
		require.Equal(t, all[:1], find(store.ExportFilter{Prefix: "6f1c0f1e-1"}))
		require.Len(t, find(store.ExportFilter{Prefix: "6f1c0f1e", Limit: 2}), 2)
		require.Empty(t, find(store.ExportFilter{Prefix: "6f1c0f1d"}))
	})
}
