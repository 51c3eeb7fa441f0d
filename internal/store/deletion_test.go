package store_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Deleted exports leave no row in any table, whether their content was erased before or not, and leave their files to
// the sweep. Exports that are not finished stay, with all that is theirs.
func TestDeletedExportsLeaveNoRow(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		count := func() map[string]int {
			rows := map[string]int{}
			for _, table := range []string{"exports", "export_bodies", "outgoing_bodies", "unkeyed_bodies", "deliveries",
				"attempts", "documents", "document_links"} {
				n, err := db.CountRows(t.Context(), table)
				require.NoError(t, err)
				rows[table] = n
			}
			return rows
		}
		unkeyed := func(body string) *model.Export {
			e := inbox.NewExport("acme", "", []byte(body), noon)
			write(t, db, func(tx *store.Tx) error { _, err := inbox.Insert(tx, e); return err })
			return e
		}
		waits, held := unkeyed("waits"), finished(t, db, "held", "theirs")
		write(t, db, func(tx *store.Tx) error {
			return tx.UpsertDelivery(&model.Delivery{ExportID: held.ID, Tenant: "acme", Integration: "crm",
				Outcome: model.Held, HeldSince: noon, CreatedAt: noon, UpdatedAt: noon})
		})
		stays := count()

		erased, whole := finished(t, db, "erased", "first"), finished(t, db, "whole", "second", "theirs")
		require.True(t, erase(t, db, erased.ID))
		nobody, onRequest := unkeyed("nobody"), unkeyed("on request")
		ids := []int64{waits.ID, held.ID, erased.ID, whole.ID, nobody.ID, onRequest.ID}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.MarkDispatched(nobody.ID, 0, noon); err != nil {
				return err
			}
			e, left, err := tx.LockRemainder(onRequest.ID)
			if err != nil {
				return err
			}
			return tx.EraseNow(e, left, noon)
		})
		listed, err := db.ListDeletable(t.Context(), 0, before, erasing)
		require.NoError(t, err)
		require.ElementsMatch(t, ids[2:], listed.IDs)
		write(t, db, func(tx *store.Tx) error {
			deleted, err := tx.DeleteExports(ids, before, erasing)
			require.NoError(t, err)
			require.ElementsMatch(t, ids[2:], deleted)
			return err
		})
		require.Equal(t, stays, count())
		require.ElementsMatch(t, []string{"first", "second"}, released(t, db))
	})
}

// A body that came again without a UUID is recognized, also when its first export was deleted.
func TestUnkeyedBodyStaysWithItsLastExport(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		insertAt := func(at time.Time) (e *model.Export, v inbox.Verdict) {
			e = inbox.NewExport("acme", "", []byte("body"), at)
			write(t, db, func(tx *store.Tx) error {
				res, err := inbox.Insert(tx, e)
				v = res.Verdict
				return err
			})
			return e, v
		}
		first, _ := insertAt(noon)
		last, v := insertAt(noon.Add(model.UnkeyedWindow))
		require.Equal(t, inbox.Accepted, v)
		write(t, db, func(tx *store.Tx) error {
			if err := tx.MarkDispatched(first.ID, 0, noon); err != nil {
				return err
			}
			deleted, err := tx.DeleteExports([]int64{first.ID, last.ID}, before, erasing)
			require.Equal(t, []int64{first.ID}, deleted)
			return err
		})
		_, v = insertAt(noon.Add(model.UnkeyedWindow + time.Second))
		require.Equal(t, inbox.Repeated, v)
	})
}

// Redeliveries of ranges are deleted once they ended long ago, and no delivery that they began is left.
func TestOldRedeliveriesAreDeleted(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, func(tx *store.Tx) error {
			for n, endedAt := range []time.Time{{}, before, before.Add(-time.Second), before.Add(-time.Second)} {
				err := tx.InsertRedelivery(&model.Redelivery{ID: strconv.Itoa(n), Selection: model.Selection{Tenant: "acme",
					Integration: "hris", Since: noon, Until: noon, Mode: model.RedeliverAll}, CreatedAt: noon, UpdatedAt: noon,
					EndedAt: endedAt})
				if err != nil {
					return err
				}
			}
			return nil
		})
		e := finished(t, db, "u-1")
		write(t, db, func(tx *store.Tx) error {
			return tx.MarkRedelivery("3", e.ID, "hris", 0)
		})
		write(t, db, func(tx *store.Tx) error {
			deleted, err := tx.DeleteRedeliveries(before)
			require.EqualValues(t, 1, deleted)
			return err
		})
		_, err := db.Redelivery(t.Context(), "2")
		require.ErrorIs(t, err, store.ErrNotFound)
		for _, id := range []string{"0", "1", "3"} {
			_, err := db.Redelivery(t.Context(), id)
			require.NoError(t, err, id)
		}
	})
}
