package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
	driversqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteTypes = strings.NewReplacer("$ID", "INTEGER PRIMARY KEY", "$ROWID", "INTEGER PRIMARY KEY", "$BYTES", "BLOB",
	"$KEY", "TEXT")

// sqlite is a SQLite file, which one process has for itself.
type sqlite struct{ *databaseFile }

func parseSQLite(address string) (dialect, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	return sqlite{&databaseFile{path: path}}, nil
}

func (s sqlite) identity() string { return "sqlite:" + s.path }
func (s sqlite) String() string   { return s.path }
func (sqlite) shared() bool       { return false }

func (s sqlite) migrator(db *sql.DB, files fs.FS, _ *zap.Logger) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, db, typed{files, sqliteTypes})
}

func (sqlite) tableExists() string {
	return `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = $1)`
}

func (sqlite) explain(err error) error { return sqliteExplained(err) }
func (sqlite) beginning() string       { return "BEGIN IMMEDIATE" }

// bound is no limit: SQLite ends by itself, and a context that may end costs each statement a goroutine.
func (sqlite) bound(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }

func (sqlite) arguments(args []any) []any { return args }
func (sqlite) keyShare() string           { return "" }
func (sqlite) skipLocked() string         { return "" }
func (sqlite) words(column, alias string) string {
	list := `CASE ` + column + ` WHEN '' THEN '[]' ELSE '["' || replace(` + column + `, ' ', '","') || '"]' END`
	return `json_each(` + list + `) AS ` + alias
}
func (sqlite) lockKey(*Tx, int64) error { return nil }

// tryRoom has nothing to do: each write is appended to the write-ahead log, and needs room there.
func (sqlite) tryRoom(*Tx, []byte) error { return nil }
func (sqlite) conflict(error) bool       { return false }

func (sqlite) size() string {
	return `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`
}

func (s sqlite) walSize() int64 {
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// sqlitePath reads an address: sqlite:///absolute/path or sqlite:relative/path. Whatever links lead there, a file has
// one path.
func sqlitePath(address string) (string, error) {
	written, slashes := strings.CutPrefix(strings.TrimPrefix(address, "sqlite:"), "//")
	path, err := url.PathUnescape(written)
	switch {
	case strings.Contains(written, "?"):
		return "", fmt.Errorf("database address %q has parameters, which are not taken: write %s and nothing behind",
			redactAddress(address), exampleSQLite)
	case err != nil || path == "" || strings.HasSuffix(path, "/"):
		return "", fmt.Errorf("database address %q names no file: write %s", address, exampleSQLite)
	case slashes && !strings.HasPrefix(path, "/"):
		return "", fmt.Errorf("database address %q names a host: write %s, with three slashes", address, exampleSQLite)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return resolveLinks(path), nil
}

const sqliteReaders = 4

// busyTimeout is the pragma that has a connection wait for the locks of others.
var busyTimeout = "busy_timeout = " + strconv.FormatInt(writeWithin.Milliseconds(), 10)

func (s sqlite) connect(a access) (*sql.DB, error) {
	if _, err := os.Stat(filepath.Dir(s.path)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist; make it, writable for this user", filepath.Dir(s.path))
	}
	pragmas := []string{busyTimeout}
	if a == writing { // these take effect only before the first table, and the second one waits for the writer
		pragmas = append(pragmas, "page_size = 8192", "auto_vacuum = INCREMENTAL")
	}
	pragmas = append(pragmas,
		"journal_mode = WAL",
		"synchronous = FULL",
		"foreign_keys = ON",
		// KiB; a larger one makes each commit slower (SQLite looks through its table of pages) and its reads no faster
		"cache_size = -8192",
		"temp_store = MEMORY",
	)
	if a == reading {
		pragmas = append(pragmas, "query_only = ON")
	}
	db := sql.OpenDB(&sqliteConnector{sqliteFile(s.path), "PRAGMA " + strings.Join(pragmas, "; PRAGMA ")})
	n := 1
	if a == reading {
		n = sqliteReaders
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func (sqlite) session(conn *sql.Conn, _ *atomic.Int64) session {
	return &localSession{conn: conn, prepared: map[string]*sql.Stmt{}}
}

// sqliteFile is a path as SQLite takes it in front of parameters.
func sqliteFile(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// sqliteConnector opens connections to one file.
type sqliteConnector struct{ address, pragmas string }

func (c *sqliteConnector) Driver() driver.Driver { return new(driversqlite.Driver) }

func (c *sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.address)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.pragmas, nil); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// sqliteCode is SQLite's primary result code of an error; 0 when it is none of SQLite's.
func sqliteCode(err error) int {
	if e := new(driversqlite.Error); errors.As(err, &e) {
		return e.Code() & 0xff // the rest tells the cause apart
	}
	return 0
}

// lost: the connection broke, or SQLite met an I/O error. A full disk is not among them: the transaction was rolled
// back and the next one may find room.
func (sqlite) lost(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || doubtful(sqliteCode(err))
}

// doubtful reports whether SQLite's view of the file can't be trusted after a result code.
func doubtful(code int) bool {
	switch code {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

func (sqlite) damaged(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || errors.Is(err, ErrDamaged)
}

func (s sqlite) examine(ctx context.Context) error { return checkIntegrity(ctx, s.path) }

// checkIntegrity reads the whole SQLite database at a path, and fails with ErrDamaged when it is not whole.
func checkIntegrity(ctx context.Context, path string) error {
	db := sql.OpenDB(&sqliteConnector{sqliteFile(path) + "?mode=ro", "PRAGMA " + busyTimeout})
	defer db.Close()
	var result string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, result)
	}
	return nil
}

func lockHolder(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "another process"
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
		return "process " + strconv.Itoa(pid)
	}
	return "another process"
}
