package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What nothing happened to although something should have is found, and nothing else: each of these differs in one
// thing from one that is not, or is.
func TestWhatIsOverdue(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		const hold = time.Hour
		made := map[int64]string{}
		put := func(what string, change func(e *model.Export, d *model.Delivery), more ...model.Delivery) int64 {
			e := export("acme", what, "b")
			d := model.Delivery{Outcome: model.Retrying, NextAt: noon, CreatedAt: noon.Add(-2 * hold)}
			change(e, &d)
			require.True(t, insert(t, db, e))
			made[e.ID] = what
			for _, d := range append([]model.Delivery{d}, more...) {
				d.ExportID, d.Tenant, d.UpdatedAt = e.ID, e.Tenant, noon
				if d.Integration == "" {
					d.Integration = "hris"
				}
				write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(&d) })
			}
			return e.ID
		}
		held := func(since time.Time, change func(e *model.Export, d *model.Delivery)) func(*model.Export, *model.Delivery) {
			return func(e *model.Export, d *model.Delivery) {
				d.Outcome, d.HeldSince, d.NextAt = model.Held, since, time.Time{}
				change(e, d)
			}
		}
		asIs := func(*model.Export, *model.Delivery) {}
		triggered := func(till time.Time) func(*model.Export, *model.Delivery) {
			return func(e *model.Export, _ *model.Delivery) { e.Origin, e.DeliverTill = model.Triggered, till }
		}
		first := put("its attempt is late", asIs)
		put("its attempt is due now", func(_ *model.Export, d *model.Delivery) { d.NextAt = noon.Add(time.Microsecond) })
		asked := func(at time.Time) func(*model.Export, *model.Delivery) {
			return func(_ *model.Export, d *model.Delivery) { d.NextAt, d.AskedAt = noon.Add(time.Hour), at }
		}
		put("asked for", asked(noon))
		put("asked for just now", asked(noon.Add(time.Microsecond)))
		put("not attempted", func(_ *model.Export, d *model.Delivery) { d.NextAt = time.Time{} })
		put("not attempted, and just begun", func(_ *model.Export, d *model.Delivery) { d.NextAt, d.CreatedAt = time.Time{}, noon.Add(time.Second) })
		put("redelivered", asIs, model.Delivery{Round: 1, Outcome: model.Delivered, CreatedAt: noon})
		put("another's was redelivered", asIs, model.Delivery{Integration: "crm", Round: 1, Outcome: model.Delivered, CreatedAt: noon})
		put("two are late", asIs, model.Delivery{Integration: "crm", Outcome: model.Retrying, NextAt: noon, CreatedAt: noon})

		put("to be parked", held(noon.Add(-hold), asIs))
		put("held for less", held(noon.Add(-hold+time.Microsecond), asIs))
		put("parked", held(noon.Add(-hold), func(_ *model.Export, d *model.Delivery) { d.Parked = true }))
		put("triggered, at its end", held(noon.Add(-hold), triggered(noon)))
		put("triggered, before its end", held(noon.Add(-hold), triggered(noon.Add(time.Hour))))
		put("triggered, retrying", triggered(noon.Add(time.Hour)))

		overdue := func(outcome model.Outcome, behind int64, limit int) (found []string) {
			ids, err := db.ListOverdue(t.Context(), outcome, noon.Add(time.Microsecond), hold, behind, limit)
			require.NoError(t, err)
			for _, id := range ids {
				found = append(found, made[id])
			}
			return found
		}
		late := []string{"its attempt is late", "asked for", "not attempted", "another's was redelivered", "two are late", "triggered, retrying"}
		require.Equal(t, late, overdue(model.Retrying, 0, 10))
		require.Equal(t, late[1:3], overdue(model.Retrying, first, 2))
		require.Equal(t, []string{"to be parked", "triggered, at its end"}, overdue(model.Held, 0, 10))
		require.Empty(t, overdue(model.Pending, 0, 10))
	})
}

// An export that was dispatched is unfinished while a delivery of its round has no row, or a document is on its way.
func TestWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		made := map[int64]string{}
		put := func(what string, change func(*model.Export)) *model.Export {
			e := export("acme", what, "b")
			e.Attachments = 0
			change(e)
			require.True(t, insert(t, db, e))
			made[e.ID] = what
			return e
		}
		asIs := func(*model.Export) {}
		dispatch := func(e *model.Export, at time.Time, to ...string) *model.Export {
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, at, to...) })
			return e
		}
		deliver := func(e *model.Export, to ...string) {
			for _, integration := range to {
				write(t, db, func(tx *store.Tx) error {
					return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: integration, Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
				})
			}
		}
		document := func(e *model.Export, state model.DocumentState) {
			write(t, db, func(tx *store.Tx) error {
				return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte{}, CreatedAt: noon})
			})
			docs, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			docs[0].State = state
			write(t, db, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[0]); return err })
		}
		attached := func(e *model.Export) { e.Attachments = 1 }
		lookedFor := noon.Add(time.Hour) // the IDs are of the present, which is later

		deliver(dispatch(put("both have", asIs), noon, "crm", "hris"), "crm", "hris")
		dispatch(put("nobody to go to", asIs), noon)
		put("not dispatched", asIs)
		dispatch(put("dispatched just now", asIs), lookedFor, "hris")
		again := dispatch(put("redelivered", asIs), noon, "hris")
		deliver(again, "hris")
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.BeginRound(again.ID, []string{"hris"}, noon, noon.Add(time.Hour))
			return err
		})
		again.Round = 1
		dispatch(again, noon, "hris")
		first := dispatch(put("documents not entered", attached), noon, "hris")
		deliver(first, "hris")
		fetching := dispatch(put("document on its way", attached), noon, "hris")
		document(fetching, model.Fetching)
		deliver(fetching, "hris")
		lost := dispatch(put("document given up", attached), noon, "hris")
		document(lost, model.GivenUp)
		deliver(lost, "hris")
		deliver(dispatch(put("triggered, its documents are here", func(e *model.Export) { e.Attachments, e.Origin = 1, model.Triggered }), noon, "hris"), "hris")

		found := func(behind int64) (all []string) {
			ids, next, err := db.ListUnfinished(t.Context(), behind, lookedFor)
			require.NoError(t, err)
			require.Zero(t, next)
			for _, id := range ids {
				all = append(all, made[id])
			}
			return all
		}
		require.Equal(t, []string{"documents not entered", "document on its way"}, found(0))
		require.Equal(t, []string{"document on its way"}, found(first.ID))
	})
}
