package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func export(tenant, key, body string) *model.Export {
	id := model.NewID(noon)
	return &model.Export{
		ID: id, Tenant: tenant, Key: key, Keyed: true, Origin: model.Received, SHA256: sha256.Sum256([]byte(body)), Size: int64(len(body)),
		CandidateID: "c-" + key, Attachments: 2, Receipt: model.NewReceipt(id), ReceivedAt: noon,
		DocumentsTill: noon.Add(model.DocumentWindow), DeliverTill: noon.Add(model.DeliveryWindow),
		Body: []byte(body), Link: []byte("https://service.example/c"), WorkflowID: model.WorkflowID(tenant, key, 0),
	}
}

func insert(t *testing.T, db *store.DB, e *model.Export) bool {
	t.Helper()
	var fresh bool
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
		fresh, err = tx.InsertExport(e)
		return err
	}))
	return fresh
}

func TestExportIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		want := export("acme", "u-1", `{"candidate":{}}`)
		require.True(t, insert(t, db, want))
		require.NotZero(t, want.ID)
		got, err := db.ExportByKey(t.Context(), "acme", "u-1")
		require.NoError(t, err)
		require.NoError(t, db.LoadBody(t.Context(), got))
		want.Integrations, got.Integrations = nil, nil
		require.Equal(t, want, got)

		byReceipt, err := db.ExportByReceipt(t.Context(), want.Receipt)
		require.NoError(t, err)
		require.Equal(t, want.ID, byReceipt.ID)
		for _, receipt := range []string{"", "nonsense", model.NewReceipt(want.ID), model.NewReceipt(want.ID + 1)} {
			_, err = db.ExportByReceipt(t.Context(), receipt)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		_, err = db.ExportByKey(t.Context(), "globex", "u-1")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

func TestKeyIsTakenOncePerTenant(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		first := export("acme", "u-1", "one")
		require.True(t, insert(t, db, first))
		second := export("acme", "u-1", "two")
		require.False(t, insert(t, db, second))
		require.True(t, insert(t, db, export("globex", "u-1", "one")))
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			seen, ok, err := tx.AcceptedExport("acme", "u-1")
			require.True(t, ok)
			require.Equal(t, first.SHA256, seen.SHA256)
			require.Equal(t, first.Receipt, seen.Receipt)
			require.Equal(t, noon, seen.ReceivedAt)
			return err
		}))
	})
}

func TestStandInForAMissingKey(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		sum := sha256.Sum256([]byte("body"))
		askFor := func(tenant, proposed string, now time.Time) (key string) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				key, err = tx.UpsertUnkeyedBody(tenant, sum, proposed, now, now.Add(model.UnkeyedWindow))
				return err
			}))
			return key
		}
		ask := func(proposed string, now time.Time) string { return askFor("acme", proposed, now) }
		require.Equal(t, "a", ask("a", noon))
		require.Equal(t, "a", ask("b", noon.Add(model.UnkeyedWindow-time.Microsecond)))
		require.Equal(t, "other", askFor("globex", "other", noon), "another tenant's key stands in")
		require.Equal(t, "other", askFor("globex", "b", noon))
		require.Equal(t, "c", ask("c", noon.Add(model.UnkeyedWindow)))
		require.Equal(t, "c", ask("d", noon.Add(2*model.UnkeyedWindow-time.Microsecond)), "the new one's time is as long")
	})
}

func TestRoundsAndDispatch(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		waiting, err := db.ListUndispatched(t.Context(), "acme", noon, 10)
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		n, oldest, err := db.Backlog(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, noon, oldest)

		next := func(integrations ...string) (got *model.Export) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				got, err = tx.BeginRound(e.ID, integrations, noon, noon.Add(time.Hour))
				return err
			}))
			return got
		}
		require.Zero(t, next("hris").Round, "a round that was not started takes the redelivery in")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, noon, "hris") }))
		n, _, err = db.Backlog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		again := next("hris")
		require.Equal(t, 1, again.Round)
		require.Equal(t, "export/acme/u-1/redelivery/1", again.WorkflowID)
		require.Equal(t, []string{"hris", "payroll"}, next("payroll").Integrations)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon}
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
			return tx.MarkDispatched(e.ID, 0, noon)
		}))
		n, _, err = db.Backlog(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n, "a mark of an earlier round was taken for the present one")
		_, err = db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err, "it took what was delivered along")

		for _, names := range [][]string{{"hris", "payroll"}, {"hris"}} { // the second is another node's, whose configuration is another
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, names...) }))
		}
		n, _, err = db.Backlog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "a workflow that was started is started once more")
		require.Equal(t, 2, next("payroll").Round)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkFault(e.ID, "Temporal refuses it", noon) }))
		n, _, err = db.Backlog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, 3, next("payroll").Round, "the workflow that was refused is asked for again")
	})
}

func TestDeliveriesAndAttempts(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Retrying, Fault: model.ClassPartnerFault,
			Attempts: 1, Documents: model.Inline, CreatedAt: noon, UpdatedAt: noon, NextAt: noon.Add(time.Minute)}
		a := &model.Attempt{StartedAt: noon, Duration: 1500 * time.Microsecond, Status: 500, Error: "answered 500", Answer: []byte("oops")}
		for range 2 {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				a.DeliveryID = d.ID
				return tx.InsertAttempt(a)
			}))
			d.Read = d.UpdatedAt
		}
		got, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.Equal(t, d, got)
		attempts, err := db.ListAttempts(t.Context(), d.ID)
		require.NoError(t, err)
		require.Len(t, attempts, 2)
		require.Equal(t, 2, attempts[1].Number)
		require.Equal(t, *a, attempts[1])

		d.Outcome, d.Parked, d.HeldSince = model.Held, true, noon
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertDelivery(d) }))
		held, err := db.ListHeldDeliveries(t.Context(), "acme", "hris", 0, 10)
		require.NoError(t, err)
		require.Len(t, held, 1)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for _, want := range []bool{true, false} {
				moved, err := tx.UpdateDeliveryRound(held[0], 1, noon)
				if err != nil || moved != want {
					return fmt.Errorf("moved %v: %w", moved, err)
				}
			}
			return nil
		}))
		got, err = db.Delivery(t.Context(), e.ID, "hris", 1)
		require.NoError(t, err)
		require.False(t, got.Parked)
		require.Equal(t, 1, got.Attempts)
	})
}

// Those that came at the same time are told apart by their ids: none is left out, and none comes twice.
func TestUndocumentedGoesThroughAll(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		var want []int64
		for n := range 5 {
			e := export("acme", fmt.Sprint("u-", n), "b")
			require.True(t, insert(t, db, e))
			want = append(want, e.ID)
		}
		var got []int64
		var mark int64
		for _, size := range []int{2, 2, 1} {
			page, next, err := db.ListUndispatchedUnfetched(t.Context(), mark, noon, noon, 2)
			require.NoError(t, err)
			require.Len(t, page, size)
			for _, e := range page {
				got = append(got, e.ID)
			}
			mark = next
		}
		require.Equal(t, want, got)
		require.Zero(t, mark, "behind the last one it begins again")
		page, _, err := db.ListUndispatchedUnfetched(t.Context(), 0, noon.Add(-time.Microsecond), noon, 2)
		require.NoError(t, err)
		require.Empty(t, page, "they have not waited long enough")
	})
}

func TestDocumentsAndLinks(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		for range 2 { // the second time changes nothing
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				for n := range 2 {
					if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", Position: n, SourceURL: []byte{byte('a' + n)}, CreatedAt: noon}); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		docs, err := db.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		require.Len(t, docs, 2)
		waiting, _, err := db.ListUndispatchedUnfetched(t.Context(), 0, noon, noon, 10)
		require.NoError(t, err)
		require.Len(t, waiting, 1)

		d := docs[1]
		d.State, d.Blob, d.Size, d.SHA256, d.FetchedAt, d.FileName = model.Fetched, "blob", 3, []byte{1}, noon, "r.pdf"
		update := func(d *model.Document) (changed bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) { changed, err = tx.UpdateDocument(d); return err }))
			return changed
		}
		require.True(t, update(d))
		require.False(t, update(d), "a final document was changed")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", Position: 1, SourceURL: []byte("z"), CreatedAt: noon})
		}))
		docs, err = db.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, d, docs[1], "it was entered anew")

		hash := [32]byte{7}
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.InsertLink(hash, d.ID, noon.Add(time.Hour)); err != nil {
				return err
			}
			made, err := tx.InsertOutgoing(e.ID, model.Rehost, kept("first"))
			require.True(t, made)
			return err
		}))
		got, till, err := db.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, d, got)
		require.Equal(t, noon.Add(time.Hour), till)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			made, err := tx.InsertOutgoing(e.ID, model.Rehost, kept("second"))
			require.False(t, made)
			if err := tx.ExtendLinks(e.ID, noon.Add(2*time.Hour)); err != nil {
				return err
			}
			require.NoError(t, tx.ExtendLinks(e.ID, noon))
			require.NoError(t, tx.ExtendLinks(e.ID+1, noon.Add(3*time.Hour)), "another's")
			return err
		}))
		_, till, err = db.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, noon.Add(2*time.Hour), till)
		body, err := db.Outgoing(t.Context(), e.ID, model.Rehost)
		require.NoError(t, err)
		require.Equal(t, "first", string(body))
		_, err = db.Outgoing(t.Context(), e.ID, model.Inline)
		require.ErrorIs(t, err, store.ErrNotFound, "the body of another mode was given")
	})
}
