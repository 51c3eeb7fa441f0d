package database

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestTheDatabaseOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	made, err := Open(t.Context(), "sqlite://"+path, tables, zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, made.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`)
	require.NoError(t, err)
	for range 2 { // the first one holds on to nothing
		_, err = Open(t.Context(), "sqlite://"+path, tables, zap.NewNop())
		require.ErrorContains(t, err, "a newer hiregate wrote it: its schema is at step 99")
	}
}
