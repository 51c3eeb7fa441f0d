package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestExportsWithLostDocuments(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		withDocuments := func(tenant, key string, states ...model.DocumentState) *model.Export {
			e := export(tenant, key, key)
			e.Attachments = len(states)
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error {
				for n := range states {
					d := model.Document{ExportID: e.ID, Tenant: tenant, Position: n, CreatedAt: noon}
					if err := tx.InsertDocument(d); err != nil {
						return err
					}
				}
				return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: tenant, Integration: "hris",
					Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
			})
			documents, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			for n, d := range documents {
				d.State = states[n]
				write(t, db, func(tx *store.Tx) error {
					_, err := tx.UpdateDocument(d)
					return err
				})
			}
			return e
		}
		withDocuments("acme", "all fetched", model.Fetched, model.Fetched)
		withDocuments("acme", "being fetched", model.Fetching)
		withDocuments("acme", "one lost", model.Fetched, model.GivenUp)
		withDocuments("acme", "all lost", model.GivenUp, model.GivenUp)
		withDocuments("globex", "of another", model.GivenUp)
		erased := withDocuments("acme", "erased", model.GivenUp)
		write(t, db, func(tx *store.Tx) error {
			e, left, err := tx.LockRemainder(erased.ID)
			if err != nil {
				return err
			}
			return tx.EraseNow(e, left, noon)
		})
		for name, test := range map[string]struct {
			filter store.ExportFilter
			want   []string
		}{
			"of all tenants": {store.ExportFilter{}, []string{"of another", "all lost", "one lost"}},
			"of one":         {store.ExportFilter{Tenant: "acme"}, []string{"all lost", "one lost"}},
			"that were delivered": {store.ExportFilter{Tenant: "acme", Integration: "hris", Outcome: model.Delivered},
				[]string{"all lost", "one lost"}},
			"that have failed": {store.ExportFilter{Outcome: model.Failed}, nil},
			"that are undelivered": {store.ExportFilter{Tenant: "acme", Undelivered: true},
				[]string{"all lost", "one lost"}},
			// Much later: another test of this process may have made the ids of 2029 (model.NewID never goes back).
			"of a later time": {store.ExportFilter{Since: noon.AddDate(100, 0, 0)}, nil},
		} {
			var keys []string
			test.filter.LostDocuments, test.filter.Limit = true, 1
			for {
				page, next, err := db.ListExports(t.Context(), test.filter)
				require.NoError(t, err)
				for _, e := range page {
					keys = append(keys, e.Key)
				}
				if test.filter.Cursor = next; next == 0 {
					break
				}
			}
			require.Equal(t, test.want, keys, name)
		}
		lost, err := db.CountLostDocuments(t.Context(), noon.AddDate(-100, 0, 0))
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"acme": 2, "globex": 1}, lost)
		lost, err = db.CountLostDocuments(t.Context(), noon.AddDate(100, 0, 0))
		require.NoError(t, err)
		require.Empty(t, lost)
	})
}
