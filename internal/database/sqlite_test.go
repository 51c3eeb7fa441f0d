package database

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	sqlite3 "modernc.org/sqlite/lib"
)

// What is acknowledged is on disk, a row that another one relies on stays, and who reads can't write: settings of each
// connection, but for the first two, which a database keeps from its beginning on.
func TestSettingsOfSQLite(t *testing.T) {
	t.Parallel()
	db := empty(t)
	want := map[string]string{"journal_mode": "wal", "auto_vacuum": "2", "synchronous": "2", "foreign_keys": "1",
		"busy_timeout": fmt.Sprint(writeWithin.Milliseconds())}
	require.NoError(t, db.Write(t.Context(), "", func(tx *Tx) error {
		for setting, value := range want {
			var got string
			if _, err := tx.Scan([]any{&got}, `PRAGMA `+setting); err != nil {
				return err
			}
			if got != value {
				return fmt.Errorf("%s is %s, not %s", setting, got, value)
			}
		}
		return nil
	}))
	_, err := db.reads.ExecContext(t.Context(), `UPDATE exports SET version = 7`)
	require.ErrorContains(t, err, "readonly")
}

// A connection that is opened to read with waits for nobody who writes, however long that takes.
func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	db := empty(t)
	var read error
	require.NoError(t, db.Write(t.Context(), "", func(tx *Tx) error {
		if err := touch(tx); err != nil {
			return err
		}
		_, read = db.version(t.Context())
		return nil
	}))
	require.NoError(t, read)
}

// Another program may have the file open, such as a backup. It can't write between what a transaction reads and what
// that writes: SQLite would refuse that.
func TestNobodyWritesBesideATransaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db := open(t, "sqlite://"+path)
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(0)")
	require.NoError(t, err)
	defer other.Close()
	var refused error
	require.NoError(t, db.Write(t.Context(), "", func(tx *Tx) error {
		var version int
		if _, err := tx.Scan([]any{&version}, `SELECT version FROM exports`); err != nil {
			return err
		}
		_, refused = other.ExecContext(t.Context(), `UPDATE exports SET version = version + 1`)
		return touch(tx)
	}))
	require.ErrorContains(t, refused, "locked")
}

// After an error of the file the writer opens it again, and after one of a statement, or where a disk is full, it goes
// on.
func TestErrorsThatCostTheConnection(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{
		sqlite3.SQLITE_IOERR: true, sqlite3.SQLITE_CORRUPT: true, sqlite3.SQLITE_NOTADB: true, sqlite3.SQLITE_CANTOPEN: true,
		sqlite3.SQLITE_READONLY: true,
		sqlite3.SQLITE_FULL:     false, sqlite3.SQLITE_CONSTRAINT: false, sqlite3.SQLITE_BUSY: false, sqlite3.SQLITE_OK: false,
	} {
		require.Equal(t, want, doubtful(code), code)
	}
	for err, want := range map[error]bool{driver.ErrBadConn: true, sql.ErrConnDone: true, errors.New("another"): false} {
		require.Equal(t, want, sqlite{}.lost(fmt.Errorf("writing: %w", err)), err)
	}
	db := empty(t)
	_, err := db.reads.ExecContext(t.Context(), `UPDATE exports SET version = 7`)
	require.Equal(t, sqlite3.SQLITE_READONLY, sqliteCode(fmt.Errorf("writing: %w", err)))
}
