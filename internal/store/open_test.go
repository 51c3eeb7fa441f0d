package store_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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
