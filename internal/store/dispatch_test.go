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

// What waits for Temporal is started in its turn: what waits longest first, and nothing before its time.
func TestDispatchInTurn(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		var all []*model.Export
		for n := range 3 {
			e := export("acme", fmt.Sprint("u-", n), "b")
			e.ReceivedAt = noon.Add(-time.Duration(n) * time.Minute)
			require.True(t, insert(t, db, e))
			all = append(all, e)
		}
		waiting := func(before time.Time, limit int) (keys []string) {
			page, err := db.ListUndispatched(t.Context(), "acme", before, limit)
			require.NoError(t, err)
			for _, e := range page {
				keys = append(keys, e.Key)
			}
			return keys
		}
		require.Equal(t, []string{"u-2", "u-1", "u-0"}, waiting(noon, 10))
		require.Equal(t, []string{"u-2", "u-1"}, waiting(noon, 2))
		require.Equal(t, []string{"u-2"}, waiting(noon.Add(-90*time.Second), 10))
		write(t, db, func(tx *store.Tx) error { return tx.PostponeDispatch(all[2], noon.Add(time.Minute)) })
		require.Equal(t, []string{"u-1", "u-0"}, waiting(noon, 10))
		require.Equal(t, []string{"u-1", "u-0", "u-2"}, waiting(noon.Add(time.Minute), 10))

		n, oldest, err := db.Backlog(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{3, all[0].ReceivedAt}, []any{n, oldest}, "the first that came is the oldest")
	})
}

// A redelivery is for now, whatever its export waited for before.
func TestRedeliveryIsDispatchedAtOnce(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		postponed, refused := export("acme", "postponed", "b"), export("acme", "refused", "b")
		for _, e := range []*model.Export{postponed, refused} {
			require.True(t, insert(t, db, e))
		}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.PostponeDispatch(postponed, noon.Add(time.Hour)); err != nil {
				return err
			}
			return tx.MarkFault(refused.ID, "invalid id", noon)
		})
		waiting, err := db.ListUndispatched(t.Context(), "acme", noon, 10)
		require.NoError(t, err)
		require.Empty(t, waiting)
		for n, e := range []*model.Export{postponed, refused} {
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.BeginRound(e.ID, []string{"hris"}, noon, noon.Add(time.Hour))
				return err
			})
			waiting, err = db.ListUndispatched(t.Context(), "acme", noon, 10)
			require.NoError(t, err)
			require.Len(t, waiting, n+1, e.Key)
		}
	})
}

// Whoever comes late with what became of one round says nothing of the next: its workflow would never be started.
func TestMarkOfAnEarlierRoundIsNotOfTheNext(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		next := func() (next *model.Export) {
			write(t, db, func(tx *store.Tx) (err error) {
				next, err = tx.BeginRound(e.ID, []string{"hris"}, noon, noon.Add(time.Hour))
				return err
			})
			return next
		}
		mark := func(round int) {
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, round, noon, "hris") })
		}
		stands := func(round int, dispatched bool) {
			t.Helper()
			kept, err := db.Export(t.Context(), e.ID)
			require.NoError(t, err)
			require.Equal(t, []any{round, model.WorkflowID("acme", "u-1", round), dispatched}, []any{kept.Round, kept.WorkflowID, !kept.DispatchedAt.IsZero()})
		}
		mark(0)
		first := next()
		mark(0)
		stands(1, false)
		mark(1)
		stands(1, true)
		write(t, db, func(tx *store.Tx) error { return tx.SkipRound(first) })
		stands(1, true)
		next()
		second := next()
		write(t, db, func(tx *store.Tx) error { return tx.SkipRound(second) })
		stands(3, false)
		mark(3)
		next()
		write(t, db, func(tx *store.Tx) error { return tx.SkipRound(second) })
		stands(4, false)
	})
}

// What comes to fetch documents while Temporal is away comes for those that still can be had, those first that waited
// longest.
func TestWhatIsUndocumented(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		at := noon.Add(time.Minute)
		fresh := func(key string, change func(*model.Export)) *model.Export {
			e := export("acme", key, "b")
			e.Attachments = 1
			change(e)
			require.True(t, insert(t, db, e))
			return e
		}
		asIs := func(*model.Export) {}
		postponed := fresh("postponed", asIs)
		fresh("waiting", asIs)
		fresh("without documents", func(e *model.Export) { e.Attachments = 0 })
		fresh("too late", func(e *model.Export) { e.DocumentsTill = at })
		dispatched, refused, here := fresh("dispatched", asIs), fresh("refused", asIs), fresh("documents are here", asIs)
		write(t, db, func(tx *store.Tx) error {
			if err := tx.PostponeDispatch(postponed, at); err != nil {
				return err
			}
			if err := tx.MarkDispatched(dispatched.ID, 0, noon, "hris"); err != nil {
				return err
			}
			if err := tx.MarkFault(refused.ID, "invalid id", noon); err != nil {
				return err
			}
			return tx.InsertDocument(model.Document{ExportID: here.ID, Tenant: "acme", SourceURL: []byte{}, CreatedAt: noon})
		})
		list := func() (keys []string) {
			found, _, err := db.ListUndispatchedUnfetched(t.Context(), 0, noon, at, 10)
			require.NoError(t, err)
			for _, e := range found {
				keys = append(keys, e.Key)
			}
			return keys
		}
		require.Equal(t, []string{"postponed", "waiting", "documents are here"}, list())
		docs, err := db.ListDocuments(t.Context(), here.ID)
		require.NoError(t, err)
		docs[0].State = model.GivenUp
		write(t, db, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[0]); return err })
		require.Equal(t, []string{"postponed", "waiting"}, list())
	})
}
