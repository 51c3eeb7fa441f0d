package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

func TestOneProcessWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	_, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.ErrorContains(t, err, "in use by process")
	require.NoError(t, db.Close())
	db, err = store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func TestCloseWaitsForHolders(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), store.Options{})
	require.NoError(t, err)
	release, ok := db.Hold()
	require.True(t, ok)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	require.NoError(t, db.Ping(t.Context()))
	release()
	require.NoError(t, <-closed)
	_, ok = db.Hold()
	require.False(t, ok)
	require.ErrorIs(t, db.Ping(t.Context()), store.ErrUnavailable)
}

// SQLite would go on writing to a file that nobody finds any more.
func TestFileThatWasMovedTakesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	refused := func() {
		for range 2 { // also by a connection that was opened since
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.LogSignin(&identity.Entry{At: noon, Event: "sign-in", Result: "lost"})
			})
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.ErrorContains(t, err, "moved, deleted or replaced")
		}
	}
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, os.Rename(path, path+".away"))
	refused()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	refused()
	require.NoError(t, os.Rename(path+".away", path))
	require.NoError(t, db.Ping(t.Context()))
	log, _, err := db.SigninLog(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, log)
}
