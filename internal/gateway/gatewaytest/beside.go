package gatewaytest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

// Beside runs a transaction on another node of a PostgreSQL, and something else beside it: that begins with the call
// of meanwhile, which returns once it is through or waits for the transaction. Beside returns when both have ended. fn
// runs once.
func Beside(t testing.TB, address string, fn func(tx *store.Tx, meanwhile func() error) error, beside func()) {
	t.Helper()
	node, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	watch, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer watch.Close(context.Background())
	done, begun := make(chan struct{}), false
	err = node.Write(t.Context(), func(tx *store.Tx) error {
		if begun {
			return errors.New("the transaction failed, and runs again")
		}
		begun = true
		return fn(tx, func() error {
			go func() {
				defer close(done)
				beside()
			}()
			return waitUntilWaiting(t.Context(), watch, done)
		})
	})
	require.NoError(t, err)
	<-done
}

// waitUntilWaiting returns when a session of the database waits for another, or when done.
func waitUntilWaiting(ctx context.Context, watch *pgx.Conn, done <-chan struct{}) error {
	for {
		var waiting bool
		err := watch.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
		if err != nil || waiting {
			return err
		}
		select {
		case <-done:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}
