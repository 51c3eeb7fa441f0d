package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// A delivery is overdue when its next step should have been made a minute ago. What waits for Temporal, for its documents
// or for somebody is not.
func TestOverdueDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		fresh := func(key string, attachments int, dispatched bool) *model.Export {
			e := export("acme", key, "b")
			e.Attachments, e.DocumentsTill = attachments, noon.Add(model.DocumentWindow)
			require.True(t, insert(t, db, e))
			if dispatched {
				write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, noon, "hris") })
			}
			return e
		}
		put := func(e *model.Export, outcome model.Outcome, next time.Time) {
			d := model.NewDelivery(e, "hris", 0, noon)
			if d.Outcome, d.NextAt = outcome, next; outcome == model.Held {
				d.HeldSince = noon
			}
			write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
		}
		fresh("never attempted", 0, true)
		fresh("waits for Temporal", 0, false)
		fresh("waits for Temporal, with documents", 1, false)
		put(fresh("attempted", 0, true), model.Retrying, noon.Add(time.Minute))
		put(fresh("has time", 0, true), model.Retrying, noon.Add(time.Hour))
		put(fresh("held", 0, true), model.Held, time.Time{})
		put(fresh("delivered", 0, true), model.Delivered, time.Time{})
		fresh("fetching", 1, true)
		fetched := fresh("fetched", 1, true)
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertDocument(model.Document{ExportID: fetched.ID, Tenant: "acme", SourceURL: []byte{}, CreatedAt: noon})
		})
		docs, err := db.ListDocuments(t.Context(), fetched.ID)
		require.NoError(t, err)
		docs[0].State = model.Fetched
		write(t, db, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[0]); return err })
		for after, want := range map[time.Duration]int64{time.Minute: 0, 90 * time.Second: 1, 150 * time.Second: 2, 4 * time.Minute: 3,
			2 * time.Hour: 4, 3 * time.Hour: 5} {
			counted, err := db.CountUndelivered(t.Context(), noon.Add(after))
			require.NoError(t, err)
			require.Equal(t, want, counted[hris].Overdue, after)
		}
	})
}
