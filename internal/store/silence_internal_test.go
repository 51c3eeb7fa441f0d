package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// behind is a database on PostgreSQL behind a wire.
func behind(t *testing.T) (*storetest.Wire, *DB) {
	t.Helper()
	wire := storetest.NewWire(t, storetest.Postgres(t))
	db, err := Open(t.Context(), wire.Address, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return wire, db
}

// A server that vanished without a word holds nobody for long, and nobody for good.
func TestReadsOfASilentServerEnd(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	db.engine.limit = 200 * time.Millisecond
	_, err := db.Export(t.Context(), 1)
	require.ErrorIs(t, err, ErrNotFound)
	wire.Silence(true)
	_, err = db.Export(t.Context(), 1)
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = db.Deliveries(t.Context(), 1)
	require.ErrorIs(t, err, ErrUnavailable)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = db.Export(gone, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable, "its reader went away")
	wire.Silence(false)
	require.Eventually(t, func() bool { _, err := db.Deliveries(t.Context(), 1); return err == nil }, 10*time.Second, 10*time.Millisecond)
}

// Close waits for those who hold the database, but not for their reads of a server that says nothing.
func TestCloseCutsReadsOff(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	db.engine.limit, db.grace = time.Hour, 100*time.Millisecond
	release, ok := db.Hold()
	require.True(t, ok)
	wire.Silence(true)
	read := make(chan error, 1)
	go func() {
		defer release()
		_, err := db.Export(context.Background(), 1)
		read <- err
	}()
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	select {
	case err := <-read:
		require.ErrorIs(t, err, ErrUnavailable)
	case <-time.After(30 * time.Second):
		require.Fail(t, "a read goes on for ever")
	}
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "Close waits for ever")
	}
}
