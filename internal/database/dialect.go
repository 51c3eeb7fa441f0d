package database

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

// dialect is a database of one kind: sqlite or postgres. The statements are the same on both, but for the schema's
// types.
type dialect interface {
	// identity is equal for two addresses of the same database.
	identity() string
	// String names the database to people, without a password.
	String() string
	// shared reports whether other nodes may write at the same time.
	shared() bool

	// claim waits until the database can be reached, and locks out other processes that must not use it until the lock
	// is closed. Its error says what to do.
	claim(context.Context, *zap.Logger) (lock io.Closer, err error)
	connect(access) (*sql.DB, error)
	// try is Try, for a version that knows these migrations.
	try(ctx context.Context, known steps) (Trial, error)
	// session runs the writer's statements on its connection, and counts the round trips to a server.
	session(conn *sql.Conn, roundTrips *atomic.Int64) session
	migrator(*sql.DB, fs.FS, *zap.Logger) (*goose.Provider, error)
	// tableExists is a query with one argument: whether there is a table of that name.
	tableExists() string
	// explain adds to an error of opening the database what to do about it.
	explain(error) error

	// beginning is the statement that begins a transaction.
	beginning() string
	// bound limits the time of a read, or of a batch of writes, where the database may never answer.
	bound(context.Context) (context.Context, context.CancelFunc)
	// arguments makes the arguments of a statement those that the database takes.
	arguments([]any) []any
	// keyShare ends a SELECT of rows that no other node may delete before the transaction ends.
	keyShare() string
	// skipLocked ends a SELECT of rows that the transaction is to update. It leaves out those that another node has locked.
	skipLocked() string
	// words is an item of a FROM, after the table of a column: it has a row for each word of that, in alias.value.
	words(column, alias string) string
	// lockKey waits until no other transaction holds the lock of a number, and holds it until the transaction ends.
	lockKey(tx *Tx, key int64) error
	// tryRoom fails when the disk has no room to append a number of bytes to a table, where a write that succeeds does not
	// show that.
	tryRoom(tx *Tx, bytes []byte) error
	// present fails when the open database is not what its address names any more. The writer asks before each commit.
	present() error
	// lost reports whether the connection must be replaced after an error.
	lost(error) bool
	// damaged reports whether an error says that the content of the database is damaged.
	damaged(error) bool
	// examine reads the whole database, where its server does not do so by itself. Its error is one of damage, or says why
	// the database could not be read.
	examine(context.Context) error
	// conflict reports whether another node caused an error, so that the same may succeed a moment later.
	conflict(error) bool

	// size is a query for the size of the database in bytes.
	size() string
	// walSize is the size of SQLite's write-ahead log in bytes; 0 when there is none.
	walSize() int64
}

type access int

const (
	reading access = iota
	writing
)

const (
	exampleSQLite   = "sqlite:///var/lib/hiregate/hiregate.db"
	examplePostgres = "postgres://hiregate@db.internal/hiregate"
)

// parseAddress reads a database's address: sqlite:///absolute/path, sqlite:relative/path or
// postgres://user:password@host:port/name.
func parseAddress(address string) (dialect, error) {
	switch scheme, _, _ := strings.Cut(address, ":"); scheme {
	case "sqlite":
		return parseSQLite(address)
	case "postgres", "postgresql":
		return parsePostgres(address)
	}
	return nil, fmt.Errorf("database address %q: write %s or %s", redactAddress(address), exampleSQLite,
		examplePostgres)
}

// redactAddress removes the password and all parameters of an address for an error. Text that is no URL may have a
// password anywhere: host=db password=…, or user:password@host without a scheme.
func redactAddress(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if u, err := url.Parse(address); err == nil && !strings.ContainsAny(u.Opaque+u.Path+u.Fragment, "@=") {
		return u.Redacted()
	}
	return "(unreadable)"
}

// opening is the error of a step of opening a database.
func opening(d dialect, doing string, err error) error {
	return fmt.Errorf("%s the database %s: %w", doing, d, d.explain(err))
}
