package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What is still to be fetched is counted, with the time until which the first of it can be.
func TestUnfetchedDocumentsAreCounted(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		requireUnfetched := func(want int64, till time.Time) {
			n, got, err := db.CountUnfetched(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, n)
			require.True(t, till.Equal(got), "%s", got)
		}
		requireUnfetched(0, time.Time{})
		var all []*model.Export
		for n := range 3 {
			e := export("acme", fmt.Sprint("u-", n), "b")
			e.DocumentsTill = noon.Add(time.Duration(n+1) * time.Hour)
			require.True(t, insert(t, db, e))
			all = append(all, e)
			write(t, db, func(tx *store.Tx) error {
				return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte{}, CreatedAt: noon})
			})
		}
		requireUnfetched(3, noon.Add(time.Hour))
		docs, err := db.ListDocuments(t.Context(), all[0].ID)
		require.NoError(t, err)
		docs[0].State = model.Fetched
		write(t, db, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[0]); return err })
		requireUnfetched(2, noon.Add(2*time.Hour))
	})
}
