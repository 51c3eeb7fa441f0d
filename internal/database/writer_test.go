package database

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// Whoever begins to wait, whenever that is, does not wait for ever, and not for much less than the limit.
func TestWaitLimit(t *testing.T) {
	t.Parallel()
	const within = 200 * time.Millisecond
	limit := newWaitLimit(within)
	defer limit.end()
	tick := time.NewTicker(7 * time.Millisecond)
	defer tick.Stop()
	var all sync.WaitGroup
	for range 40 {
		<-tick.C
		all.Go(func() {
			began, over := time.Now(), limit.begin()
			select {
			case <-over:
				assert.GreaterOrEqual(t, time.Since(began), within/2,
					"the processors are busy, so that it may be too early by some of it")
			case <-time.After(30 * time.Second):
				assert.Fail(t, "it waits for ever")
			}
		})
	}
	all.Wait()
}

func TestAWriteDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	db := empty(t)
	require.Equal(t, turnWithin, db.writer.limit.within)
	require.NoError(t, db.writer.close())
	var err error
	db.writer, err = newWriter(db.dialect, 50*time.Millisecond, zap.NewNop())
	require.NoError(t, err)

	busy, release, released := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		released <- db.Write(context.Background(), "", func(*Tx) error { close(busy); <-release; return nil })
	}()
	<-busy
	var ran atomic.Bool
	run := func(*Tx) error { ran.Store(true); return nil }
	require.ErrorIs(t, db.Write(t.Context(), "", run), ErrUnavailable)
	// Neither does one that finds the queue full.
	var others sync.WaitGroup
	for range cap(db.writer.queue) - len(db.writer.queue) {
		others.Go(func() { db.Write(context.Background(), "", run) })
	}
	others.Wait()
	require.Len(t, db.writer.queue, cap(db.writer.queue))
	require.ErrorIs(t, db.Write(t.Context(), "", run), ErrUnavailable)
	// The one that runs has taken longer than all of them. It has had its turn: nobody gives up on it.
	close(release)
	require.NoError(t, <-released)

	// what was queued has been passed over
	require.Eventually(t, func() bool { return db.Write(t.Context(), "", touch) == nil }, 10*time.Second, time.Millisecond)
	require.False(t, ran.Load(), "a write ran whose sender was told that it did not")
}

// A closure that fails costs the others of its batch nothing, and runs behind them: it may wait for a lock until the
// time of all is over.
func TestWhoFailedRunsLast(t *testing.T) {
	t.Parallel()
	w := &writer{dialect: empty(t).dialect, log: zap.NewNop()} // one that takes what the test gives it
	defer w.disconnect()
	var ran []int
	failure := errors.New("this one fails")
	batch := make([]*write, 4)
	for n := range batch {
		batch[n] = &write{done: make(chan error, 1), fn: func(*Tx) error {
			ran = append(ran, n)
			if n == 1 {
				return failure
			}
			return nil
		}}
	}
	w.commit(slices.Clone(batch))
	require.Equal(t, []int{0, 1, 0, 2, 3, 1}, ran)
	for n, one := range batch {
		err := <-one.done
		require.Equal(t, n == 1, errors.Is(err, failure))
	}
}
