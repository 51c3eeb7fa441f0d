package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What nodes note of a quarter counts once, and each attempt counts.
func TestQuarters(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		last, err := db.LastQuarter(t.Context())
		require.NoError(t, err)
		require.Zero(t, last)
		require.True(t, insert(t, db, export("acme", "u-1", "b")))
		require.True(t, insert(t, db, export("acme", "u-2", "b")))
		require.True(t, insert(t, db, export("globex", "u-3", "b")))
		later := noon.AddDate(50, 0, 0) // ids rise in the process, and other tests are ahead
		came, err := db.CountReceived(t.Context(), noon, later)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"acme": 2, "globex": 1}, came)
		came, err = db.CountReceived(t.Context(), later, later.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"acme": 0, "globex": 0}, came)

		for range 2 { // nodes
			write(t, db, func(tx *store.Tx) error {
				tx.NoteQuarter("acme", store.Quarter{Begin: noon, Received: 2, Waiting: 5, Oldest: time.Minute})
				tx.NoteQuarter("globex", store.Quarter{Begin: noon, Received: 1, Waiting: 3, Oldest: time.Hour})
				tx.NoteQuarter("", store.Quarter{Begin: noon, Waiting: 7, Oldest: time.Hour})
				return nil
			})
			count(t, db, hris, noon.Add(time.Minute), "", "", model.ClassDataFault)
		}
		write(t, db, func(tx *store.Tx) error {
			tx.NoteQuarter("acme", store.Quarter{Begin: noon.Add(time.Minute), Received: 1, Waiting: 4, Oldest: 2 * time.Minute})
			return nil
		})
		count(t, db, hris, noon.Add(16*time.Minute), "")
		all, err := db.ListQuarters(t.Context(), "", noon)
		require.NoError(t, err)
		require.Equal(t, []store.Quarter{{Begin: noon, Received: 3, Delivered: 4, Waiting: 7, Oldest: time.Hour},
			{Begin: noon.Add(15 * time.Minute), Delivered: 1}}, all)
		acme, err := db.ListQuarters(t.Context(), "acme", noon.Add(14*time.Minute))
		require.NoError(t, err)
		require.Equal(t, store.Quarter{Begin: noon, Received: 2, Delivered: 4, Waiting: 5, Oldest: 2 * time.Minute}, acme[0])
		last, err = db.LastQuarter(t.Context())
		require.NoError(t, err)
		require.Equal(t, noon.Add(15*time.Minute), last)

		write(t, db, func(tx *store.Tx) error {
			n, err := tx.DeleteQuarters(noon.Add(16 * time.Minute))
			require.EqualValues(t, 3, n)
			return err
		})
		all, err = db.ListQuarters(t.Context(), "", time.Unix(0, 0))
		require.NoError(t, err)
		require.Len(t, all, 1)
	})
}
