package store_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// TestRestartOfPostgreSQLLosesNothing crashes the server under load: what was acknowledged is there afterwards, what
// was not failed as unavailable, and writing goes on by itself.
func TestRestartOfPostgreSQLLosesNothing(t *testing.T) {
	t.Parallel()
	const writers = 32
	server := storetest.StartServer(t)
	db, err := store.Open(t.Context(), server.Address("postgres"), store.Options{})
	require.NoError(t, err)
	defer db.Close()

	var mu sync.Mutex
	var acknowledged []string
	var done atomic.Bool
	var refused, after atomic.Int64
	var restarted atomic.Bool
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := 0; !done.Load(); n++ {
				key := fmt.Sprintf("%d-%d", w, n)
				e := export("acme", key, key)
				err := db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.InsertExport(e); return err })
				if err != nil {
					if !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("another error than unavailable: %v", err)
					}
					refused.Add(1)
					continue
				}
				if restarted.Load() {
					after.Add(1)
				}
				mu.Lock()
				acknowledged = append(acknowledged, key)
				mu.Unlock()
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(acknowledged) }
	for range 3 {
		before := count()
		require.Eventually(t, func() bool { return count() > before+200 }, time.Minute, time.Millisecond)
		require.NoError(t, server.Stop())
		require.NoError(t, server.Start())
	}
	restarted.Store(true)
	require.Eventually(t, func() bool { return after.Load() > 200 }, time.Minute, time.Millisecond, "writing does not go on after the restart")
	done.Store(true)
	group.Wait()
	require.NotZero(t, refused.Load(), "the server was never away")
	for _, key := range acknowledged {
		_, err := db.ExportByKey(t.Context(), "acme", key)
		require.NoError(t, err, "an acknowledged export is gone")
	}
	t.Logf("%d acknowledged, %d refused", len(acknowledged), refused.Load())
}

// TestNodesShareADatabase has two nodes insert the same keys at once, crosswise: each key is accepted once.
func TestNodesShareADatabase(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	var nodes []*store.DB
	var opening sync.WaitGroup
	var mu sync.Mutex
	for range 2 { // both bring the schema up to date
		opening.Go(func() {
			db, err := store.Open(t.Context(), address, store.Options{})
			if err != nil {
				t.Errorf("opening: %v", err)
				return
			}
			mu.Lock()
			nodes = append(nodes, db)
			mu.Unlock()
		})
	}
	opening.Wait()
	require.Len(t, nodes, 2)
	var fresh atomic.Int64
	var group sync.WaitGroup
	const keys = 300
	for n := range keys {
		for _, db := range nodes {
			group.Go(func() {
				e := export("acme", fmt.Sprint(n), "b")
				err := db.WriteOrdered(t.Context(), e.Key, func(tx *store.Tx) error {
					made, err := tx.InsertExport(e)
					if err == nil && made {
						fresh.Add(1)
					} else if err == nil {
						_, ok, err := tx.AcceptedExport("acme", e.Key)
						if err == nil && !ok {
							return errors.New("the first export of a key can't be seen")
						}
						return err
					}
					return err
				})
				if err != nil {
					t.Errorf("writing: %v", err)
				}
			})
		}
	}
	group.Wait()
	require.GreaterOrEqual(t, fresh.Load(), int64(keys)) // a closure may run more than once
	all := 0
	for f := (store.ExportFilter{Limit: store.MaxPage}); ; {
		page, next, err := nodes[0].ListExports(t.Context(), f)
		require.NoError(t, err)
		all += len(page)
		if f.Cursor = next; next == 0 {
			break
		}
	}
	require.Equal(t, keys, all)
	for _, db := range nodes {
		require.NoError(t, db.Close())
	}
}

func TestPostgreSQLIsExplained(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	other, err := url.Parse(address)
	require.NoError(t, err)
	other.User, other.Path = url.UserPassword("hiregate", "hunter2"), "/nobody-made-it"
	for _, c := range []struct{ address, hint string }{
		{other.String(), "make it (CREATE DATABASE"},
		{"postgres://hiregate:hunter2@127.0.0.1:notaport/x", "can't be read"},
		{"postgres://hiregate:hunter2@127.0.0.1:1/x?sslmode=nonsense", "can't be read"},
	} {
		_, err := store.Open(t.Context(), c.address, store.Options{})
		require.ErrorContains(t, err, c.hint)
		require.NotContains(t, err.Error(), "hunter2")
	}
	one, err := store.Identity(address)
	require.NoError(t, err)
	same, err := store.Identity(address)
	require.NoError(t, err)
	require.Equal(t, one, same)
	changed, err := store.Identity(strings.Replace(address, "hiregate@", "hiregate:hunter2@", 1))
	require.NoError(t, err)
	require.NotEqual(t, one, changed, "a new password would not take effect with a reload")
	require.NotContains(t, changed, "hunter2")
}

func TestTextThatPostgreSQLRefusesIsCleaned(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		write(t, db, func(tx *store.Tx) error {
			d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Retrying, Reason: "bad \xff and \x00", CreatedAt: noon, UpdatedAt: noon}
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
			return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: noon, Error: "\xfe\x00", Answer: []byte("\x00\xff")})
		})
		d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		attempts, err := db.ListAttempts(t.Context(), d.ID)
		require.NoError(t, err)
		require.Equal(t, "\x00\xff", string(attempts[0].Answer), "bytes must stay as they are")
	})
}

// A statement's error that a closure passes over must not be acknowledged: PostgreSQL's COMMIT of such a transaction is
// a ROLLBACK.
func TestErrorThatAClosurePassesOverIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.InsertExport(export("acme", "u-1", "b")); err != nil {
				return err
			}
			_ = tx.UpsertDelivery(&model.Delivery{ExportID: 1, Tenant: "acme"}) // there is no such export, and no time
			return nil
		})
		require.Error(t, err)
		_, err = db.ExportByKey(t.Context(), "acme", "u-1")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}
