package store

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// schemaOf is a SQLite database that nobody has open, and its migrations.
func schemaOf(t *testing.T, path string) (*sql.DB, *goose.Provider) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dialect{files, "sqlite3", sqliteTypes})
	require.NoError(t, err)
	return db, p
}

// Bodies that the first version made stay those that go out: an attempt after the update sends the same bytes as before it.
func TestRehostedBodiesOfTheFirstVersionAreKept(t *testing.T) {
	t.Parallel()
	db, p := schemaOf(t, filepath.Join(t.TempDir(), "hiregate.db"))
	_, err := p.UpTo(t.Context(), 1)
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

// The addresses of integrations that a former version kept are those of this one, on either database.
func TestAddressesOfTheFormerVersionAreKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address)
		putSecrets(t, db, "acme")
		require.NoError(t, db.Close())
		e, err := engineOf(address)
		require.NoError(t, err)
		raw, err := e.connect(writing)
		require.NoError(t, err)
		defer raw.Close()
		files, err := fs.Sub(migrations, "migrations")
		require.NoError(t, err)
		p, err := goose.NewProvider(e.goose, raw, dialect{files, string(e.goose), e.types})
		require.NoError(t, err)
		_, err = p.DownTo(t.Context(), 16)
		require.NoError(t, err)
		var url string
		require.NoError(t, raw.QueryRowContext(t.Context(), `SELECT url FROM integrations WHERE url LIKE 'https://%'`).Scan(&url))
		require.Equal(t, "https://hr.example/in/acme", url)
		require.NoError(t, raw.Close())

		db, _ = openSealing(t, address)
		requireSecrets(t, db, 1)
	})
}
