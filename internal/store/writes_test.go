package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestFailingWriteDoesNotTakeOthersAlong(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		mine := errors.New("mine")
		var group sync.WaitGroup
		results := make([]error, 64)
		for n := range results {
			group.Go(func() {
				results[n] = db.Write(t.Context(), func(tx *store.Tx) error {
					if _, err := tx.InsertExport(export("acme", fmt.Sprint(n), "body")); err != nil {
						return err
					}
					switch n % 8 {
					case 3:
						return mine
					case 5:
						panic("a bug")
					}
					return nil
				})
			})
		}
		group.Wait()
		for n, err := range results {
			_, read := db.ExportByKey(t.Context(), "acme", fmt.Sprint(n))
			switch n % 8 {
			case 3:
				require.ErrorIs(t, err, mine)
				require.ErrorIs(t, read, store.ErrNotFound, "a failed write left a row")
			case 5:
				require.ErrorContains(t, err, "panicked")
				require.ErrorIs(t, read, store.ErrNotFound, "a panicked write left a row")
			default:
				require.NoError(t, err)
				require.NoError(t, read, "an acknowledged write is not there")
			}
		}
	})
}

// A test that fails within a closure ends the goroutine that it runs in. Nothing hangs for that, and nothing is written.
func TestAClosureEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for _, key := range []string{"", "acme"} {
			var group sync.WaitGroup
			for n := range 4 {
				group.Go(func() {
					err := db.WriteOrdered(t.Context(), key, func(tx *store.Tx) error {
						if _, err := tx.InsertExport(export("acme", fmt.Sprint(key, n), "body")); err != nil {
							return err
						}
						runtime.Goexit()
						return nil
					})
					assert.ErrorIs(t, err, store.ErrUnavailable)
				})
			}
			group.Wait()
			_, err := db.ExportByKey(t.Context(), "acme", key+"0")
			require.ErrorIs(t, err, store.ErrNotFound)
			require.True(t, insert(t, db, export("acme", key+"after", "body")))
		}
	})
}

func TestWaitingWritesShareACommit(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		db.Work()
		started, release := make(chan struct{}), make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			require.NoError(t, db.Write(t.Context(), func(*store.Tx) error { close(started); <-release; return nil }))
		})
		<-started
		const others = 100
		var queued sync.WaitGroup
		queued.Add(others)
		for n := range others {
			group.Go(func() {
				queued.Done()
				require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.InsertExport(export("acme", fmt.Sprint(n), "b")); return err }))
			})
		}
		queued.Wait()
		close(release)
		group.Wait()
		done := db.Work()
		require.GreaterOrEqual(t, done.Writes, int64(others))
		require.Less(t, done.Commits, int64(others/2), "writes that waited did not share commits")
	})
}

func TestAbandonedWriteDoesNotRun(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		started, release := make(chan struct{}), make(chan struct{})
		go db.Write(context.Background(), func(*store.Tx) error { close(started); <-release; return nil })
		<-started
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			result <- db.Write(ctx, func(*store.Tx) error { t.Error("an abandoned write ran"); return nil })
		}()
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		close(release)
		require.NoError(t, db.Ping(t.Context()))
	})
}

// Whoever gives up reading has learnt nothing of the database: it may be well.
func TestReadThatIsGivenUpIsNoFault(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		over, end := context.WithCancel(t.Context())
		end()
		_, _, err := db.ListExports(over, store.ExportFilter{})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, store.ErrUnavailable)
		_, err = db.ExportByKey(over, "acme", "u-1")
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, store.ErrUnavailable)
	})
}
