package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

func TestTry(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		if strings.HasPrefix(address, "sqlite") {
			address += ".new"
		}
		trial, err := Try(t.Context(), address, tables)
		require.NoError(t, err)
		require.True(t, trial.New)
		require.Contains(t, trial.Server, "SQL")

		db, err := Open(t.Context(), address, tables, zap.NewNop())
		require.NoError(t, err)
		defer db.Close()
		d, err := parseAddress(address)
		require.NoError(t, err)
		before := applied(t, d)
		trial, err = Try(t.Context(), address, tables) // beside the gateway
		require.NoError(t, err)
		require.False(t, trial.New)
		require.Empty(t, trial.Unsafe)
		require.Equal(t, before, applied(t, d))
		var left bool
		reader, err := d.connect(reading)
		require.NoError(t, err)
		defer reader.Close()
		require.NoError(t, reader.QueryRowContext(t.Context(), d.tableExists(), "hiregate_trial").Scan(&left))
		require.False(t, left, "the trial left a table")

		writer, err := d.connect(writing)
		require.NoError(t, err)
		defer writer.Close()
		_, err = writer.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`)
		require.NoError(t, err)
		_, err = Try(t.Context(), address, tables)
		require.ErrorContains(t, err, "a newer hiregate wrote it")
	})
}

func TestTrySaysWhatPostgreSQLRefuses(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	role := "guest_" + conn.Config().Database
	_, err = conn.Exec(t.Context(), `CREATE ROLE `+role+` LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
	require.NoError(t, err)
	guest := strings.Replace(address, "//hiregate@", "//"+role+"@", 1)
	_, err = Try(t.Context(), guest, tables)
	require.ErrorContains(t, err, "the user "+role+" may not make or change tables")

	db, err := Open(t.Context(), address, tables, zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = conn.Exec(t.Context(), `GRANT ALL ON ALL TABLES IN SCHEMA public TO `+role)
	require.NoError(t, err)
	_, err = Try(t.Context(), guest, tables)
	require.ErrorContains(t, err, "the tables belong to another user")

	_, err = Try(t.Context(), "postgres://hiregate@127.0.0.1:1/hiregate", tables)
	require.ErrorContains(t, err, "no PostgreSQL answers at 127.0.0.1:1: start it")
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, 1, strings.Count(err.Error(), "connection refused"), err)
	_, err = Try(t.Context(), address+"&dbname=absent", tables)
	require.ErrorContains(t, err, "has no database absent")
}

func TestTrySaysWhatAFileIs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := Try(t.Context(), "sqlite://"+folder+"/absent/hiregate.db", tables)
	require.ErrorContains(t, err, "make its folder")
	made := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := Open(t.Context(), "sqlite://"+made, tables, zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = Try(t.Context(), "sqlite://"+made, tables)
	require.NoError(t, err)
	if os.Geteuid() > 0 { // root writes what nobody may
		require.NoError(t, os.Chmod(made, 0o400))
		_, err = Try(t.Context(), "sqlite://"+made, tables)
		require.ErrorContains(t, err, "readonly")
	}
	text := filepath.Join(folder, "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database", 100)), 0o600))
	_, err = Try(t.Context(), "sqlite://"+text, tables)
	require.ErrorContains(t, err, "the file is something else")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
