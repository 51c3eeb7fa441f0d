package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteTypes = strings.NewReplacer("$ID", "INTEGER PRIMARY KEY", "$ROWID", "INTEGER PRIMARY KEY", "$BYTES", "BLOB", "$KEY", "TEXT")

// sqliteEngine is SQLite, whose file one process has for itself.
func sqliteEngine(address string) (*engine, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	return &engine{
		identity: "sqlite:" + path, shown: path, goose: goose.DialectSQLite3, types: sqliteTypes,
		begin:   "BEGIN IMMEDIATE",
		connect: func(a access) (*sql.DB, error) { return sqliteConnect(path, a) },
		lock:    func() (io.Closer, error) { return lockFile(path) },
		wait:    func(context.Context, *zap.Logger) error { return nil },
		lost:    sqliteLost,
		again:   func(error) bool { return false },
		size:    func() int64 { return sqliteWAL(path) },
	}, nil
}

// sqlitePath reads an address: sqlite:///absolute/path or sqlite:relative/path.
func sqlitePath(address string) (string, error) {
	path, err := url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(address, "sqlite:"), "//"))
	if err != nil || path == "" || strings.HasSuffix(path, "/") {
		return "", fmt.Errorf("database address %q names no file: write %s", address, exampleSQLite)
	}
	return filepath.Abs(path)
}

const readers = 4

func sqliteConnect(path string, a access) (*sql.DB, error) {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist; make it, writable for this user", filepath.Dir(path))
	}
	pragmas := []string{
		"busy_timeout(10000)",
		"auto_vacuum(2)", // INCREMENTAL; takes effect only before the first table
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"cache_size(-8192)", // KiB; a larger one makes each commit slower (SQLite looks through its table of pages) and its reads no faster
		"temp_store(2)",
	}
	if a == reading {
		pragmas = append(pragmas, "query_only(1)")
	}
	q := url.Values{"_pragma": pragmas}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	n := 1
	if a == reading {
		n = readers
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// sqliteLost: the connection broke, or SQLite met an I/O error. A full disk is not among them: the transaction was rolled back and
// the next one may find room.
func sqliteLost(err error) bool {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
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
