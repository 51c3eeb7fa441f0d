package store

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
)

// schemaOf is a SQLite database that nobody has open, and its migrations.
func schemaOf(t *testing.T, path string) (*sql.DB, *goose.Provider) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dialect{files, sqliteTypes})
	require.NoError(t, err)
	return db, p
}

func TestTheDatabaseOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, p := schemaOf(t, path)
	_, err := p.Up(t.Context())
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`)
	require.NoError(t, err)
	for range 2 { // the first one holds on to nothing
		_, err = Open(t.Context(), "sqlite://"+path, Options{})
		require.ErrorContains(t, err, "a newer hiregate wrote it: its schema is at step 99")
	}
}
