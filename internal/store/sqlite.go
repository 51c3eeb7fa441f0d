package store

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

	sqlite3 "github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/walvfs"
)

var sqliteTypes = strings.NewReplacer("$ID", "INTEGER PRIMARY KEY", "$ROWID", "INTEGER PRIMARY KEY", "$BYTES", "BLOB", "$KEY", "TEXT")

// sqliteEngine is SQLite, whose file one process has for itself.
func sqliteEngine(address string) (*engine, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	file := &openedFile{path: path}
	return &engine{
		identity: "sqlite:" + path, shown: path, goose: goose.DialectSQLite3, types: sqliteTypes,
		begin:   "BEGIN IMMEDIATE",
		connect: func(a access) (*sql.DB, error) { return sqliteConnect(path, a) },
		lock:    file.claim,
		wait:    func(context.Context, *zap.Logger) error { return nil },
		explain: sqliteExplained,
		lost:    sqliteLost,
		again:   func(error) bool { return false },
		present: file.check,
		size:    func() int64 { return sqliteWAL(path) },
		keys:    &keys{generation: keyGeneration},
		// Under a key that is in the table, an export would get the id of the first one, which is taken.
		insertExport: insertExport(`coalesce((SELECT export_id FROM export_keys WHERE tenant = $2 AND key = $3), $1)`),
	}, nil
}

// sqlitePath reads an address: sqlite:///absolute/path or sqlite:relative/path. Whatever links lead there, a file has one path.
func sqlitePath(address string) (string, error) {
	written, slashes := strings.CutPrefix(strings.TrimPrefix(address, "sqlite:"), "//")
	path, err := url.PathUnescape(written)
	switch {
	case strings.Contains(written, "?"):
		return "", fmt.Errorf("database address %q has parameters, which are not taken: write %s and nothing behind", redactAddress(address), exampleSQLite)
	case err != nil || path == "" || strings.HasSuffix(path, "/"):
		return "", fmt.Errorf("database address %q names no file: write %s", address, exampleSQLite)
	case slashes && !strings.HasPrefix(path, "/"):
		return "", fmt.Errorf("database address %q names a host: write %s, with three slashes", address, exampleSQLite)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return followed(path), nil
}

const readers = 4

func sqliteConnect(path string, a access) (*sql.DB, error) {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist; make it, writable for this user", filepath.Dir(path))
	}
	pragmas := []string{"busy_timeout = " + strconv.FormatInt(writeWithin.Milliseconds(), 10)}
	if a == writing { // these take effect only before the first table, and the second one waits for whoever writes
		pragmas = append(pragmas, "page_size = 8192", "auto_vacuum = INCREMENTAL")
	}
	pragmas = append(pragmas,
		"journal_mode = WAL",
		"synchronous = FULL",
		"foreign_keys = ON",
		"cache_size = -8192", // KiB; a larger one makes each commit slower (SQLite looks through its table of pages) and its reads no faster
		"temp_store = MEMORY",
	)
	if a == reading {
		pragmas = append(pragmas, "query_only = ON")
	}
	// Without SQLite's own mutexes: database/sql gives a connection to one goroutine at a time.
	address := sqliteFile(path) + "?_mutex=no"
	if walvfs.Name != "" {
		address += "&vfs=" + walvfs.Name
	}
	db := sql.OpenDB(&sqliteConnector{address, "PRAGMA " + strings.Join(pragmas, "; PRAGMA ")})
	n := 1
	if a == reading {
		n = readers
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// sqliteFile is a path as SQLite takes it in front of parameters.
func sqliteFile(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// sqliteConnector opens connections to one file.
type sqliteConnector struct{ address, pragmas string }

func (c *sqliteConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (c *sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.address)
	if err != nil {
		return nil, err
	}
	one := sqliteConn{conn.(*sqlite3.SQLiteConn)}
	if _, err := one.Exec(c.pragmas, nil); err != nil {
		one.Close()
		return nil, err
	}
	return one, nil
}

// sqliteConn takes statements whose parameters are numbered as PostgreSQL has it, $1: to SQLite that is a name, and ?1 the
// first parameter wherever it stands.
type sqliteConn struct{ *sqlite3.SQLiteConn }

func (c sqliteConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	return c.SQLiteConn.PrepareContext(ctx, strings.ReplaceAll(q, "$", "?"))
}

func (c sqliteConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return c.SQLiteConn.QueryContext(ctx, strings.ReplaceAll(q, "$", "?"), args)
}

func (c sqliteConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return c.SQLiteConn.ExecContext(ctx, strings.ReplaceAll(q, "$", "?"), args)
}

// sqliteLost: the connection broke, or SQLite met an I/O error. A full disk is not among them: the transaction was rolled back and
// the next one may find room.
func sqliteLost(err error) bool {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrIoErr, sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrCantOpen, sqlite3.ErrReadonly:
		return true
	}
	return false
}

func sqliteWAL(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
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
