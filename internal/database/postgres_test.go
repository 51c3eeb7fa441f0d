package database

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// What is acknowledged is on disk, whatever a database or a user was set to.
func TestSynchronousCommitIsNeverOff(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{"off": "on", "on": "on", "local": "local"} {
		address := storetest.Postgres(t)
		conn, err := pgx.Connect(t.Context(), address)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(),
			`ALTER ROLE CURRENT_USER IN DATABASE `+pgx.Identifier{
				conn.Config().Database}.Sanitize()+` SET synchronous_commit = `+set)
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
		db, err := Open(t.Context(), address, tables, zap.NewNop())
		require.NoError(t, err)
		var got string
		var source string
		require.NoError(t, db.Write(t.Context(), "", func(tx *Tx) error {
			_, err := tx.Scan([]any{&got, &source}, `SELECT setting, source FROM pg_settings WHERE name = 'synchronous_commit'`)
			return err
		}))
		require.Equal(t, want, got, "the server says %s", set)
		require.Equal(t, "session", source, "a change of the server's setting would reach it")
		require.NoError(t, db.Close())
	}
}

// A session that reads can't write, and one that writes is not kept waiting for ever, whatever the database was set to.
func TestSessionsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	for _, setting := range []string{"client_encoding = LATIN1", "default_transaction_read_only = on",
		"idle_session_timeout = '1h'"} {
		_, err = conn.Exec(t.Context(), `ALTER DATABASE `+pgx.Identifier{conn.Config().Database}.Sanitize()+` SET `+setting)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close(t.Context()))
	db, err := Open(t.Context(), address, tables, zap.NewNop())
	require.NoError(t, err)
	defer db.Close()
	_, err = db.reads.ExecContext(context.Background(), `UPDATE exports SET version = 7`)
	require.ErrorContains(t, err, "read-only")
	want := map[string]string{"transaction_isolation": "read committed", "lock_timeout": "4s",
		"idle_in_transaction_session_timeout": "10s",
		"client_encoding":                     "UTF8", "default_transaction_read_only": "off", "idle_session_timeout": "0"}
	got := map[string]string{}
	require.NoError(t, db.Write(t.Context(), "", func(tx *Tx) error {
		for setting := range want {
			var value string
			if _, err := tx.Scan([]any{&value}, `SHOW `+setting); err != nil {
				return err
			}
			got[setting] = value
		}
		return nil
	}))
	require.Equal(t, want, got)
	for setting, value := range map[string]string{"client_encoding": "UTF8", "default_transaction_read_only": "on",
		"idle_session_timeout": "0"} {
		var got string
		err := db.Query(t.Context(), func(r Row) error { return r.Scan(&got) }, `SHOW `+setting)
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
}
