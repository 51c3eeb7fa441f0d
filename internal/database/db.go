// Package database opens SQLite and PostgreSQL, brings their schema up to date, and reads and writes. It knows no table
// but those by which it knows a database of hiregate from another program's; package store has them.
//
// There is one way to write: DB.Write. Reads are short: they take a page and let go, since a reader left open lets the
// write-ahead log grow without end.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"go.uber.org/zap"
)

// ErrUnavailable says that the database can't be written or read now. What was asked for was not acknowledged; after a
// lost COMMIT it may still be there, so the sender's repeat is answered as a duplicate.
var ErrUnavailable = errors.New("the database is not available")

// DB is an open database. Make it with Open; it is safe for concurrent use.
type DB struct {
	dialect dialect
	lock    io.Closer
	reads   *readers
	writer  *writer
	holders holders
	damage  damage
	ending  context.Context // ends once Close has waited long enough for reads
	end     context.CancelFunc
	grace   time.Duration
	held    time.Duration // how long Close waits for releases
}

const (
	closeGrace = 3 * time.Second // is how long Close lets reads go on, which may hang
	// acquireGrace is how long it waits for releases. Requests had the grace_period before; one may take for ever to come in.
	acquireGrace = time.Second
)

// Row is a row that is read.
type Row interface{ Scan(...any) error }

// Open opens the database at an address such as sqlite:///var/lib/hiregate/hiregate.db or postgres://user@host/name,
// applies the migrations that it lacks and starts its writer. The error is a sentence that says what to do.
func Open(ctx context.Context, address string, migrations fs.FS, log *zap.Logger) (*DB, error) {
	d, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	lock, err := d.claim(ctx, log)
	if err != nil {
		return nil, err
	}
	db := &DB{dialect: d, lock: lock, grace: closeGrace, held: acquireGrace}
	db.ending, db.end = context.WithCancel(context.Background())
	if err := migrate(ctx, d, migrations, log); err != nil {
		lock.Close()
		return nil, opening(d, "updating the schema of", err)
	}
	reads, err := d.connect(reading)
	if err != nil {
		lock.Close()
		return nil, opening(d, "opening", err)
	}
	db.reads = &readers{DB: reads, keep: !d.shared(), prepared: map[string]*sql.Stmt{}}
	if db.writer, err = newWriter(d, turnWithin, log); err != nil {
		db.reads.Close()
		lock.Close()
		return nil, opening(d, "opening", err)
	}
	return db, nil
}

// Identity is equal for two addresses of the same database.
func Identity(address string) (string, error) {
	d, err := parseAddress(address)
	if err != nil {
		return "", err
	}
	return d.identity(), nil
}

// String names the database to people, without a password.
func (db *DB) String() string { return db.dialect.String() }

// Size is a query for the size of the database in bytes.
func (db *DB) Size() string { return db.dialect.size() }

// Shared reports whether other processes may use the database at the same time.
func (db *DB) Shared() bool { return db.dialect.shared() }

// Words is an item of a FROM, after the table of a column: it has a row for each word of that, in the column alias.value.
// Words are separated by single spaces and have neither quotes nor backslashes.
func (db *DB) Words(column, alias string) string { return db.dialect.words(column, alias) }

// WALSize is the size of SQLite's write-ahead log in bytes; 0 when there is none.
func (db *DB) WALSize() int64 { return db.dialect.walSize() }

// Close waits for all who acquired the database to release it, a second at most, commits what was queued and closes
// it. Reads of a server that go on after three seconds are cut off, and so are later ones. Who has not released it by
// then gets ErrUnavailable.
func (db *DB) Close() error {
	defer db.end()
	defer time.AfterFunc(db.grace, db.end).Stop()
	if !db.holders.close(db.held) {
		return nil
	}
	return errors.Join(db.writer.close(), db.reads.Close(), db.lock.Close())
}

// Acquire keeps the database open until release is called: for a request that began under a configuration which is then
// replaced. It reports false when the database is closed, or about to be.
func (db *DB) Acquire() (release func(), ok bool) { return db.holders.acquire() }

// Query calls each for every row of a read that returns at most a page of rows, until it returns an error. With a context
// that can't be cancelled SQLite's driver starts no goroutine, which is a third of the cost of a short read.
func (db *DB) Query(ctx context.Context, each func(Row) error, q string, args ...any) error {
	watch(q)
	bounded, cancel := db.dialect.bound(ctx)
	defer cancel()
	if db.dialect.shared() { // only those are cut off
		defer context.AfterFunc(db.ending, cancel)()
	}
	rows, err := db.reads.query(bounded, q, db.dialect.arguments(args))
	if err != nil {
		return unavailable(ctx, "reading", db.noted(err))
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return unavailable(ctx, "reading a row", db.noted(err))
		}
	}
	if err := rows.Err(); err != nil {
		return unavailable(ctx, "reading rows", db.noted(err))
	}
	return nil
}

// unavailable marks an error of the database itself, as opposed to the end of the reader's own context, as
// ErrUnavailable.
func unavailable(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}
