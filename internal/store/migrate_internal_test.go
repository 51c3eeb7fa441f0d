package store

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
)

// Bodies that the first version made stay those that go out: an attempt after the update sends the same bytes as before it.
func TestRehostedBodiesOfTheFirstVersionAreKept(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "hiregate.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, typed{files, sqliteTypes})
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 1)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO exports VALUES (7, 'acme', 'u-1', TRUE, 'received', x'00', 2, 'c-1', 1, 'r', 0, 0, 0, 0, '', 'w', NULL, 0, '');
		INSERT INTO rehosted_bodies VALUES (7, x'017b7d')`)
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 2)
	require.NoError(t, err)
	var mode string
	var body []byte
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT documents, body FROM outgoing_bodies WHERE export_id = 7`).Scan(&mode, &body))
	require.Equal(t, "rehost", mode)
	require.Equal(t, "\x01{}", string(body))
	var quarantined bool
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT quarantined FROM exports WHERE id = 7 AND findings IS NULL`).Scan(&quarantined))
	require.False(t, quarantined)

	_, err = p.DownTo(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT body FROM rehosted_bodies WHERE export_id = 7`).Scan(&body))
	require.Equal(t, "\x01{}", string(body))
}
