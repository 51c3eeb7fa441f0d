package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// eraseNow erases an export, whatever is still to come of it.
func eraseNow(db *store.DB, id int64) error {
	return db.Write(context.Background(), func(tx *store.Tx) error {
		e, left, err := tx.LockRemainder(id)
		if err != nil || !e.ErasedAt.IsZero() {
			return err
		}
		return tx.EraseNow(e, left, erasing)
	})
}

// What is on its way ends, wherever it is: nothing dispatches, fetches, releases or finds it any more.
func TestErasureEndsWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for what, prepare := range map[string]func(tx *store.Tx, e *model.Export) error{
			"not dispatched":  func(*store.Tx, *model.Export) error { return nil },
			"never attempted": func(tx *store.Tx, e *model.Export) error { return tx.MarkDispatched(e.ID, 0, noon, "crm", "hris") },
			"parked, and its documents on their way": func(tx *store.Tx, e *model.Export) error {
				d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, Parked: true, HeldSince: noon, CreatedAt: noon, UpdatedAt: noon}
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", Position: 1, SourceURL: []byte("https://service.example/d"), CreatedAt: noon}); err != nil {
					return err
				}
				return tx.MarkDispatched(e.ID, 0, noon, "hris")
			},
			"waiting for a redelivery": func(tx *store.Tx, e *model.Export) error {
				if err := tx.MarkDispatched(e.ID, 0, noon, "hris"); err != nil {
					return err
				}
				d, err := tx.LockDelivery(&model.Delivery{ExportID: e.ID, Integration: "hris"})
				if err != nil {
					return err
				}
				_, err = tx.BeginRound(e.ID, []string{"hris"}, noon, e.DeliverTill, d)
				return err
			},
		} {
			e := export("acme", what, `{"candidate":{"person":"Zoë"}}`)
			e.Quarantined = what == "not dispatched"
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error { return prepare(tx, e) })
			require.NoError(t, eraseNow(db, e.ID))
			require.NoError(t, eraseNow(db, e.ID))

			got, err := db.Export(t.Context(), e.ID)
			require.NoError(t, err)
			require.Equal(t, []any{erasing, "", false}, []any{got.ErasedAt, got.CandidateID, got.Quarantined}, what)
			require.ErrorIs(t, db.LoadBody(t.Context(), got), store.ErrNotFound)
			deliveries, err := db.ListDeliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range deliveries {
				require.Equal(t, []any{model.Failed, model.ClassOurFault, store.ErasedReason, false}, []any{d.Outcome, d.Fault, d.Reason, d.Parked}, what)
			}
			require.Len(t, deliveries, map[string]int{"never attempted": 2, "parked, and its documents on their way": 1, "waiting for a redelivery": 1}[what], what)
			documents, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			require.Len(t, documents, 2, "whoever reads the body at this moment would enter the others")
			for _, d := range documents {
				require.Equal(t, []any{model.GivenUp, store.ErasedReason, 0}, []any{d.State, d.Reason, len(d.SourceURL)}, what)
			}
		}
		waiting, err := db.ListUndispatched(t.Context(), "acme", erasing, 10)
		require.NoError(t, err)
		require.Empty(t, waiting)
		n, _, err := db.Backlog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		undocumented, _, err := db.ListUndispatchedUnfetched(t.Context(), 0, erasing, noon, 10)
		require.NoError(t, err)
		require.Empty(t, undocumented)
		unfinished, _, err := db.ListUnfinished(t.Context(), 0, erasing)
		require.NoError(t, err)
		require.Empty(t, unfinished)
		parked, err := db.ListHeldPlaces(t.Context())
		require.NoError(t, err)
		require.Empty(t, parked)
	})
}

// What had ended before is told as it ended, and what had not is ended.
func TestErasureLeavesEndsAlone(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		e.Attachments = 3
		require.True(t, insert(t, db, e))
		write(t, db, func(tx *store.Tx) error {
			for n := range 2 {
				if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", Position: n, SourceURL: []byte("https://service.example/d"), CreatedAt: noon}); err != nil {
					return err
				}
			}
			for integration, outcome := range map[string]model.Outcome{"crm": model.Retrying, "hris": model.Delivered, "payroll": model.Expired} {
				d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: integration, Outcome: outcome, Reason: "as it was", CreatedAt: noon, UpdatedAt: noon}
				if outcome == model.Retrying {
					d.NextAt, d.HeldSince = noon, noon
				}
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
			}
			return tx.MarkDispatched(e.ID, 0, noon, "crm", "hris", "payroll")
		})
		docs, err := db.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		docs[0].State, docs[0].Blob = model.Fetched, "blob"
		write(t, db, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[0]); return err })
		scan := scanned(t, db, 1, noon)
		write(t, db, func(tx *store.Tx) error { return tx.InsertOfferedDocument(scan, e, 2, [32]byte{1}) })

		var left store.Remainder
		write(t, db, func(tx *store.Tx) (err error) { _, left, err = tx.LockRemainder(e.ID); return err })
		require.Equal(t, 2, left.Documents)
		require.Len(t, left.Deliveries, 1)
		require.NoError(t, eraseNow(db, e.ID))
		deliveries, err := db.ListDeliveries(t.Context(), e.ID)
		require.NoError(t, err)
		var ends []string
		for _, d := range deliveries {
			ends = append(ends, fmt.Sprint(d.Outcome, ": ", d.Reason))
			require.True(t, d.NextAt.IsZero() && d.HeldSince.IsZero(), "it is still due")
		}
		require.Equal(t, []string{"failed: " + store.ErasedReason, "delivered: as it was", "expired: as it was"}, ends)
		states := func() (all []model.DocumentState) {
			docs, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range docs {
				all = append(all, d.State)
			}
			return all
		}
		ended := []model.DocumentState{model.Fetched, model.GivenUp, model.GivenUp}
		require.Equal(t, ended, states())
		require.True(t, endScan(t, db, scan, ""))
		require.Equal(t, ended, states(), "the end of its scan offers it again")
		got, err := db.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Empty(t, got.Fault, "Temporal took it")

		refused := export("acme", "refused", "b")
		require.True(t, insert(t, db, refused))
		write(t, db, func(tx *store.Tx) error { return tx.MarkFault(refused.ID, "invalid id", noon) })
		require.NoError(t, eraseNow(db, refused.ID))
		got, err = db.Export(t.Context(), refused.ID)
		require.NoError(t, err)
		require.Equal(t, "invalid id", got.Fault)
	})
}

// Whoever had the content in hand when it was erased leaves none of it behind.
func TestNothingIsWrittenIntoAnErasedExport(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := finished(t, db, "u-1", "f-1")
		d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.NoError(t, eraseNow(db, e.ID))
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.InsertOutgoing(e.ID, model.Inline, kept("body with our URLs"))
			return err
		})
		require.ErrorIs(t, err, store.ErrErased)
		_, err = db.Outgoing(t.Context(), e.ID, model.Inline)
		require.ErrorIs(t, err, store.ErrNotFound)
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: noon, Status: 500, Answer: []byte("no room for Zoë")})
		})
		attempts, err := db.ListAttempts(t.Context(), d.ID)
		require.NoError(t, err)
		require.Len(t, attempts, 2)
		for _, a := range attempts {
			require.Empty(t, a.Answer)
		}
	})
}

// One node erases what another is just delivering: whoever is first, neither a body nor an answer is left.
func TestErasureBesideADelivery(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	for n := range 40 {
		e := export("acme", fmt.Sprint("u-", n), "b")
		e.Attachments = 0
		require.True(t, insert(t, nodes[0], e))
		write(t, nodes[0], func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, noon, "hris") })
		var both sync.WaitGroup
		both.Go(func() {
			if err := eraseNow(nodes[0], e.ID); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			// As an attempt at a partner that took it does.
			d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, Attempts: 1, CreatedAt: noon, UpdatedAt: noon}
			err := nodes[1].Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.InsertOutgoing(e.ID, model.Rehost, kept("body"))
				return err
			})
			if err != nil {
				return // it was erased before
			}
			err = nodes[1].Write(context.Background(), func(tx *store.Tx) error {
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: noon, Status: 200, Answer: []byte("thanks for Zoë")})
			})
			if err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		_, err := nodes[0].Outgoing(t.Context(), e.ID, model.Rehost)
		require.ErrorIs(t, err, store.ErrNotFound)
		deliveries, err := nodes[0].ListDeliveries(t.Context(), e.ID)
		require.NoError(t, err)
		require.Len(t, deliveries, 1)
		attempts, err := nodes[0].ListAttempts(t.Context(), deliveries[0].ID)
		require.NoError(t, err)
		for _, a := range attempts {
			require.Empty(t, a.Answer)
		}
	}
}

// An answer that another node is just writing, late, is gone as well: the erasure waits for it.
func TestErasureWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	nodes := nodesAt(t, address)
	look, err := sql.Open("pgx", address)
	require.NoError(t, err)
	defer look.Close()
	e := finished(t, nodes[0], "u-1", "f-1")
	late := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Retrying, CreatedAt: noon, UpdatedAt: noon}
	erased := make(chan error, 1)
	err = nodes[1].Write(t.Context(), func(tx *store.Tx) error {
		standing, err := tx.LockDelivery(late)
		if err != nil {
			return err
		}
		if err := tx.InsertAttempt(&model.Attempt{DeliveryID: standing.ID, StartedAt: noon, Status: 500, Answer: []byte("no room for Zoë")}); err != nil {
			return err
		}
		go func() { erased <- eraseNow(nodes[0], e.ID) }()
		for waits := false; !waits && len(erased) == 0; {
			if err := look.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, <-erased)
	attempts, err := nodes[0].ListAttempts(t.Context(), deliveryOf(t, nodes[0], e))
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	require.Empty(t, attempts[1].Answer)
}

func deliveryOf(t *testing.T, db *store.DB, e *model.Export) int64 {
	t.Helper()
	d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
	require.NoError(t, err)
	return d.ID
}
