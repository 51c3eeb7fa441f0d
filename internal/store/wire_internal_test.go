package store

import (
	"context"
	"errors"
	"sync"
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
	_, err := db.Export(t.Context(), 1)
	require.ErrorIs(t, err, ErrNotFound)
	db.engine.limit = 200 * time.Millisecond
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
	_, err := db.Export(t.Context(), 1) // connects, which has a limit of its own
	require.ErrorIs(t, err, ErrNotFound)
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

// What the writer took is answered in good time, whatever the server does, and at most one turn and one limit after it was asked.
func TestWritesToASilentServerEnd(t *testing.T) {
	t.Parallel()
	require.Less(t, turnWithin*5/4+writeWithin, 18*time.Second, "a partner waits 20 s")
	wire, db := behind(t)
	require.Equal(t, writeWithin, db.engine.limit)
	require.NoError(t, db.Ping(t.Context()))
	db.engine.limit = 300 * time.Millisecond
	wire.Silence(true)
	var all sync.WaitGroup
	began := time.Now()
	for range 40 { // alone and in batches
		all.Go(func() {
			if err := db.Ping(context.Background()); !errors.Is(err, ErrUnavailable) {
				t.Errorf("another error than unavailable: %v", err)
			}
		})
	}
	all.Wait()
	require.Less(t, time.Since(began), 40*db.engine.limit)
	wire.Silence(false)
	require.Eventually(t, func() bool { return db.Ping(t.Context()) == nil }, 10*time.Second, 10*time.Millisecond)
}

// A connection that was lost before anything was committed costs no write: the server was started anew, or closed what was idle.
func TestALostConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	for range 5 {
		wire.Cut()
		require.NoError(t, db.Ping(t.Context()))
	}
	for range 5 {
		runs := 0
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			if runs++; runs == 1 {
				wire.Cut()
			}
			_, err := tx.exec(`UPDATE directory SET version = version + 1`)
			return err
		}))
		require.Equal(t, 2, runs)
	}
	runs := 0
	require.ErrorIs(t, db.Write(t.Context(), func(tx *Tx) error {
		runs++
		wire.Cut()
		_, err := tx.exec(`UPDATE directory SET version = version + 1`)
		return err
	}), ErrUnavailable)
	require.Equal(t, 2, runs, "it is tried again once")
	var version int
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.one([]any{&version}, `SELECT version FROM directory`)
		return err
	}))
	require.Equal(t, 5, version)
}

// A COMMIT is sent once: nobody knows what became of one whose answer did not come.
func TestACommitIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	runs := 0
	write := func(tx *Tx) error {
		runs++
		_, err := tx.exec(`UPDATE directory SET version = version + 1`)
		wire.Cut()
		return err
	}
	require.NoError(t, db.Ping(t.Context()))
	require.ErrorIs(t, db.Write(t.Context(), write), ErrUnavailable)
	require.Equal(t, 1, runs)
}
