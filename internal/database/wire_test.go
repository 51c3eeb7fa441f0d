package database

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func setLimit(db *DB, limit time.Duration) { db.dialect.(*postgres).limit = limit }

// A server that vanished without a word holds nobody for long, and nobody for good.
func TestReadsOfASilentServerEnd(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	_, err := db.version(t.Context())
	require.NoError(t, err)
	setLimit(db, 200*time.Millisecond)
	wire.Silence(true)
	_, err = db.version(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = db.version(gone)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable, "its reader went away")
	wire.Silence(false)
	require.Eventually(t, func() bool { _, err := db.version(t.Context()); return err == nil }, 10*time.Second,
		10*time.Millisecond)
}

// Close waits for those who hold the database, but not for their reads of a server that says nothing.
func TestCloseCutsReadsOff(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	setLimit(db, time.Hour)
	db.grace = 100 * time.Millisecond
	_, err := db.version(t.Context()) // connects, which has a limit of its own
	require.NoError(t, err)
	release, ok := db.Acquire()
	require.True(t, ok)
	wire.Silence(true)
	read := make(chan error, 1)
	go func() {
		defer release()
		_, err := db.version(context.Background())
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

// What the writer took is answered in good time, whatever the server does, and at most one turn and one limit after it
// was asked.
func TestWritesToASilentServerEnd(t *testing.T) {
	t.Parallel()
	require.Less(t, turnWithin*5/4+writeWithin, 18*time.Second, "a partner waits 20 s")
	wire, db := behind(t)
	require.Equal(t, writeWithin, db.dialect.(*postgres).limit)
	require.NoError(t, db.Write(t.Context(), "", touch))
	const limit = 300 * time.Millisecond
	setLimit(db, limit)
	wire.Silence(true)
	var all sync.WaitGroup
	began := time.Now()
	for range 40 { // alone and in batches
		all.Go(func() {
			if err := db.Write(context.Background(), "", touch); !errors.Is(err, ErrUnavailable) {
				t.Errorf("another error than unavailable: %v", err)
			}
		})
	}
	all.Wait()
	require.Less(t, time.Since(began), 40*limit)
	wire.Silence(false)
	require.Eventually(t, func() bool { return db.Write(t.Context(), "", touch) == nil }, 10*time.Second,
		10*time.Millisecond)
}

// A connection that was lost before anything was committed costs no write: the server was started anew, or closed what
// was idle.
func TestALostConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	for range 5 {
		wire.Cut()
		require.NoError(t, db.Write(t.Context(), "", func(*Tx) error { return nil }))
	}
	for range 5 {
		runs := 0
		require.NoError(t, db.Write(t.Context(), "", func(tx *Tx) error {
			if runs++; runs == 1 {
				wire.Cut()
			}
			return touch(tx)
		}))
		require.Equal(t, 2, runs)
	}
	runs := 0
	require.ErrorIs(t, db.Write(t.Context(), "", func(tx *Tx) error {
		runs++
		wire.Cut()
		return touch(tx)
	}), ErrUnavailable)
	require.Equal(t, 2, runs, "it is tried again once")
	version, err := db.version(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, version)
}

// A COMMIT is sent once: nobody knows what became of one whose answer did not come.
func TestACommitIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	wire, db := behind(t)
	runs := 0
	write := func(tx *Tx) error {
		runs++
		err := touch(tx)
		wire.Cut()
		return err
	}
	require.NoError(t, db.Write(t.Context(), "", touch))
	require.ErrorIs(t, db.Write(t.Context(), "", write), ErrUnavailable)
	require.Equal(t, 1, runs)
}
