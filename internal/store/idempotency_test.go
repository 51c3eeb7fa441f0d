package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

func once(key, body string, at time.Time) *store.Once {
	return &store.Once{ID: sha256.Sum256([]byte(key)), Fingerprint: sha256.Sum256([]byte(body)), Lease: at.Add(time.Minute), Till: at.Add(24 * time.Hour)}
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		first := once("k", "body", noon)
		kept, err := db.Begin(t.Context(), first, noon)
		require.NoError(t, err)
		require.Equal(t, store.Kept{}, kept)

		_, err = db.Begin(t.Context(), once("k", "body", noon.Add(time.Second)), noon.Add(time.Second))
		require.ErrorIs(t, err, store.ErrRunning)
		_, err = db.Begin(t.Context(), once("k", "other", noon), noon)
		require.ErrorIs(t, err, store.ErrOtherRequest)
		_, err = db.Begin(t.Context(), once("k2", "other", noon), noon)
		require.NoError(t, err)

		require.NoError(t, db.Finish(t.Context(), first, []byte("answer"), noon))
		for _, at := range []time.Time{noon, noon.Add(23 * time.Hour)} {
			kept, err = db.Begin(t.Context(), once("k", "body", at), at)
			require.NoError(t, err)
			require.Equal(t, store.Kept{Answered: true, Answer: []byte("answer")}, kept)
			_, err = db.Begin(t.Context(), once("k", "other", at), at)
			require.ErrorIs(t, err, store.ErrOtherRequest)
		}
		kept, err = db.Begin(t.Context(), once("k", "other", noon), noon.Add(24*time.Hour))
		require.NoError(t, err, "it is kept for longer than it should be")
		require.Equal(t, store.Kept{}, kept)
	})
}

// What a crash left is taken over when its lease is over, and told what it had brought about already.
func TestALostRequestIsTakenOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		lost := once("k", "body", noon)
		_, err := db.Begin(t.Context(), lost, noon)
		require.NoError(t, err)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.NoteEffect(lost, "u-1") }))

		at := noon.Add(time.Minute)
		next := once("k", "body", at)
		kept, err := db.Begin(t.Context(), next, at)
		require.NoError(t, err)
		require.Equal(t, store.Kept{Effect: "u-1"}, kept)

		require.ErrorIs(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.NoteEffect(lost, "u-2") }), store.ErrLeaseLost)
		require.NoError(t, db.Finish(t.Context(), lost, []byte("late"), at), "it has an answer all the same")
		_, err = db.Begin(t.Context(), once("k", "body", at), at)
		require.ErrorIs(t, err, store.ErrRunning, "the late one ended the other")

		require.NoError(t, db.Finish(t.Context(), next, nil, at), "it failed: it may be asked again at once")
		kept, err = db.Begin(t.Context(), once("k", "body", at.Add(time.Second)), at)
		require.NoError(t, err)
		require.Equal(t, store.Kept{Effect: "u-1"}, kept)
	})
}

func TestOutlivedRequestsAreSwept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
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
		n, err := db.KeptRequests(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, n)
	})
}
