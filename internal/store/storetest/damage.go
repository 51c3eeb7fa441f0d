package storetest

import (
	"bytes"
	"database/sql"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Damage overwrites the first page of a table in the file of a SQLite database, as a broken disk would. Whoever has the
// database open, and the page in memory, reads it again after the next write. mend puts the page back.
func Damage(t testing.TB, path, table string) (mend func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(8000)")
	require.NoError(t, err)
	var root, size int64
	require.NoError(t, db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = $1`, table).Scan(&root))
	require.NoError(t, db.QueryRow(`PRAGMA page_size`).Scan(&size))
	_, err = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	before := make([]byte, size)
	_, err = file.ReadAt(before, (root-1)*size)
	require.NoError(t, err)
	write := func(page []byte) {
		_, err := file.WriteAt(page, (root-1)*size)
		require.NoError(t, err)
	}
	write(bytes.Repeat([]byte{0xff}, int(size)))
	return func() { write(before) }
}
