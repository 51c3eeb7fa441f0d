package store_test

import (
	"fmt"
	"strings"
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
			n, _, got, err := db.CountUnfetched(t.Context())
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

// What is to be fetched, late and lost is counted by tenant, and what was lost by whose fault that is.
func TestDocumentsOfTenantsAreCounted(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		lost := noon.Add(time.Minute)
		docs := map[string]*model.Document{}
		for _, key := range []string{"acme 1", "acme 2", "acme 3", "globex 1", "globex 2"} {
			e := export(strings.Fields(key)[0], key, key)
			e.ReceivedAt, e.DocumentsTill = noon.Add(time.Duration(len(docs))*time.Minute), noon.Add(time.Duration(len(docs)+1)*time.Hour)
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error {
				return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: e.Tenant, SourceURL: []byte{}, CreatedAt: noon})
			})
			all, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			docs[key] = all[0]
		}
		update := func(key string, change func(*model.Document)) {
			change(docs[key])
			write(t, db, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[key]); return err })
		}
		update("acme 2", func(d *model.Document) { d.Tries, d.Reason, d.NextAt = 3, "answered 503", noon.Add(time.Hour) })
		update("acme 3", func(d *model.Document) { d.State, d.LostAt = model.GivenUp, lost })
		update("globex 2", func(d *model.Document) { d.State, d.LostAt, d.OurFault = model.GivenUp, lost, true })

		acme := store.Unfetched{Count: 2, Late: 1, Till: noon.Add(time.Hour), Since: noon.Add(time.Minute), LostAt: noon.Add(2 * time.Hour)}
		globex := store.Unfetched{Count: 1, Till: noon.Add(4 * time.Hour)}
		of, more, err := db.ListUnfetched(t.Context(), "")
		require.NoError(t, err)
		require.False(t, more)
		require.Equal(t, map[string]store.Unfetched{"acme": acme, "globex": globex}, of)
		of, _, err = db.ListUnfetched(t.Context(), "globex")
		require.NoError(t, err)
		require.Equal(t, map[string]store.Unfetched{"globex": globex}, of)

		counted, err := db.CountLost(t.Context(), "", lost)
		require.NoError(t, err)
		require.Equal(t, map[string]store.Lost{"acme": {Service: 1}, "globex": {Ours: 1}}, counted)
		counted, err = db.CountLost(t.Context(), "acme", lost.Add(time.Second))
		require.NoError(t, err)
		require.Empty(t, counted, "it was lost before")

		write(t, db, func(tx *store.Tx) error {
			n, err := tx.HurryDocuments(docs["acme 2"].ExportID)
			require.EqualValues(t, 1, n)
			return err
		})
		all, err := db.ListDocuments(t.Context(), docs["acme 2"].ExportID)
		require.NoError(t, err)
		require.Zero(t, all[0].NextAt)
	})
}
