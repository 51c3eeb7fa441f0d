package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func once(key, body string, at time.Time) *store.Once {
	return &store.Once{ID: sha256.Sum256([]byte(key)), Fingerprint: sha256.Sum256([]byte(body)), Lease: at.Add(time.Minute), Till: at.Add(24 * time.Hour)}
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		first := once("k", "body", noon)
		location, err := db.Begin(t.Context(), first, noon)
		require.NoError(t, err)
		require.Empty(t, location)

		_, err = db.Begin(t.Context(), once("k", "body", noon.Add(time.Second)), noon.Add(time.Second))
		require.ErrorIs(t, err, store.ErrRunning)
		_, err = db.Begin(t.Context(), once("k", "other", noon), noon)
		require.ErrorIs(t, err, store.ErrOtherRequest)
		_, err = db.Begin(t.Context(), once("k2", "other", noon), noon)
		require.NoError(t, err)

		require.NoError(t, complete(t, db, first, "/u-1"))
		require.NoError(t, db.EndLease(t.Context(), first, noon))
		for _, at := range []time.Time{noon, noon.Add(23 * time.Hour)} {
			location, err = db.Begin(t.Context(), once("k", "body", at), at)
			require.NoError(t, err)
			require.Equal(t, "/u-1", location)
			_, err = db.Begin(t.Context(), once("k", "other", at), at)
			require.ErrorIs(t, err, store.ErrOtherRequest)
		}
		location, err = db.Begin(t.Context(), once("k", "other", noon), noon.Add(24*time.Hour))
		require.NoError(t, err, "it is kept for longer than it should be")
		require.Empty(t, location)
	})
}

// complete stores the location of what a request made.
func complete(t *testing.T, db *store.DB, o *store.Once, location string) error {
	t.Helper()
	return db.Write(t.Context(), func(tx *store.Tx) error { return tx.Complete(o, location) })
}

// A request that made nothing is taken over when its lease is over, and can make nothing from then on.
func TestALostRequestIsTakenOver(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		lost := once("k", "body", noon)
		_, err := db.Begin(t.Context(), lost, noon)
		require.NoError(t, err)

		at := noon.Add(time.Minute)
		next := once("k", "body", at)
		location, err := db.Begin(t.Context(), next, at)
		require.NoError(t, err)
		require.Empty(t, location)

		require.ErrorIs(t, complete(t, db, lost, "/u-1"), store.ErrLeaseLost)
		require.NoError(t, db.EndLease(t.Context(), lost, at))
		_, err = db.Begin(t.Context(), once("k", "body", at), at)
		require.ErrorIs(t, err, store.ErrRunning, "the late one ended the other's lease")

		require.NoError(t, db.EndLease(t.Context(), next, at), "it failed: it may be asked again at once")
		last := once("k", "body", at.Add(time.Second))
		_, err = db.Begin(t.Context(), last, at)
		require.NoError(t, err)
		require.NoError(t, complete(t, db, last, "/u-2"))
		location, err = db.Begin(t.Context(), once("k", "body", at), at)
		require.NoError(t, err)
		require.Equal(t, "/u-2", location, "whatever its lease")
	})
}

func TestOutlivedRequestsAreSwept(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		later := noon.Add(25 * time.Hour)
		for n := range 30 {
			_, err := db.Begin(t.Context(), once(fmt.Sprint(n), "body", noon), noon)
			require.NoError(t, err)
		}
		_, err := db.Begin(t.Context(), once("29", "another", later), later)
		require.NoError(t, err, "it is over, however many others are")
		for n := range 2 {
			_, err := db.Begin(t.Context(), once(fmt.Sprint("later", n), "body", later), later)
			require.NoError(t, err)
		}
		n, err := db.CountRows(t.Context(), "idempotency")
		require.NoError(t, err)
		require.Equal(t, 3, n)
	})
}
