package database

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPeekWaitsForALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db := sql.OpenDB(&sqliteConnector{sqliteFile(path), "CREATE TABLE exports (id INTEGER); INSERT INTO exports VALUES (7)"})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	_, err := db.Exec("BEGIN EXCLUSIVE")
	require.NoError(t, err)
	ended := make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		_, err := db.Exec("COMMIT")
		ended <- err
	})
	var id int
	require.NoError(t, Peek(t.Context(), "sqlite://"+path, func(r Row) error { return r.Scan(&id) }, "SELECT id FROM exports"))
	require.Equal(t, 7, id)
	require.NoError(t, <-ended)
}
