package database

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// A request may take for ever to come in: its client sends a byte a second. Close does not wait for that.
func TestCloseWaitsForNobodyForEver(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), tables, zap.NewNop())
	require.NoError(t, err)
	db.held = 50 * time.Millisecond
	release, ok := db.Acquire()
	require.True(t, ok)
	require.NoError(t, db.Close())
	_, ok = db.Acquire()
	require.False(t, ok)
	_, err = db.version(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, db.Write(t.Context(), "", touch), ErrUnavailable)
	release()
	require.NoError(t, db.Close())
}

// Whoever began before goes on until they let go, however many are to come after that.
func TestCloseWaitsForWhoHoldsIt(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), tables, zap.NewNop())
	require.NoError(t, err)
	db.held = time.Hour
	release, ok := db.Acquire()
	require.True(t, ok)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	require.Eventually(t, func() bool {
		another, ok := db.Acquire()
		if ok {
			another()
		}
		return !ok
	}, 10*time.Second, time.Millisecond)
	for range 50 {
		require.NoError(t, db.Write(t.Context(), "", touch))
	}
	release()
	require.NoError(t, <-closed)
}

// What waits for its turn when the database is closed is written, and nobody else has the file before that.
func TestCloseWritesWhatWaits(t *testing.T) {
	t.Parallel()
	address := "sqlite://" + filepath.Join(t.TempDir(), "hiregate.db")
	db, err := Open(t.Context(), address, tables, zap.NewNop())
	require.NoError(t, err)
	before, err := db.version(t.Context())
	require.NoError(t, err)
	busy, release := make(chan struct{}), make(chan struct{})
	written := make(chan error, 2)
	go func() {
		written <- db.Write(context.Background(), "", func(tx *Tx) error { close(busy); <-release; return touch(tx) })
	}()
	<-busy
	go func() { written <- db.Write(context.Background(), "", touch) }()
	require.Eventually(t, func() bool { return len(db.writer.queue) == 1 }, 10*time.Second, time.Millisecond)

	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	require.Eventually(t, func() bool {
		db.writer.gate.RLock()
		defer db.writer.gate.RUnlock()
		return db.writer.stopped
	}, 10*time.Second, time.Millisecond)
	for range 10 {
		_, err = Open(t.Context(), address, tables, zap.NewNop())
		require.ErrorContains(t, err, "in use by process")
	}
	close(release)
	require.NoError(t, <-written)
	require.NoError(t, <-written)
	require.NoError(t, <-closed)
	db, err = Open(t.Context(), address, tables, zap.NewNop())
	require.NoError(t, err)
	after, err := db.version(t.Context())
	require.NoError(t, err)
	require.Equal(t, before+2, after)
	require.NoError(t, db.Close())
}
