// Package store keeps exports, their deliveries and their documents, and what the service role knows, durably, in SQLite or
// PostgreSQL.
//
// There is one way to write: DB.Write. Reads are short: they take a page and let go, since a reader left open lets the
// write-ahead log grow without end. Times are kept as integer microseconds UTC, bodies and header values as bytes.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/vault"
)

var (
	// ErrUnavailable says that the database can't be written or read now. What was asked for was not acknowledged; after a lost
	// COMMIT it may still be there, so the sender's repeat is answered as a duplicate.
	ErrUnavailable = errors.New("the database is not available")
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
)

// DB is an open database. Make it with Open; it is safe for concurrent use.
type DB struct {
	engine  *engine
	lock    io.Closer
	reads   *sql.DB
	writer  *writer
	holders holders
	ending  context.Context // ends once Close has waited long enough for those who read
	end     context.CancelFunc
	grace   time.Duration
	held    time.Duration              // how long Close waits for those who hold it
	reading func(q string, args []any) // for a test of the queries' plans; nil elsewhere
}

const (
	closeGrace = 3 * time.Second // is how long Close lets reads go on where they may hang
	holdGrace  = 5 * time.Second // is how long it waits for whoever holds the database: a request may take for ever to come in
)

// Options are what Open may be told.
type Options struct {
	Log *zap.Logger
	// Vaults are what secrets are sealed with, and data keys. Nil: with nothing.
	Vaults *vault.Shared
}

// Open opens the database at an address such as sqlite:///var/lib/hiregate/hiregate.db or postgres://user@host/name, brings its
// schema up to date and starts its writer. The error is a sentence that says what to do.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Vaults == nil {
		o.Vaults = new(vault.Shared)
	}
	e, err := engineOf(address)
	if err != nil {
		return nil, err
	}
	e.vaults = o.Vaults
	if err := e.wait(ctx, o.Log); err != nil {
		return nil, err
	}
	lock, err := e.lock()
	if err != nil {
		return nil, err
	}
	db := &DB{engine: e, lock: lock, grace: closeGrace, held: holdGrace}
	db.ending, db.end = context.WithCancel(context.Background())
	if err := migrate(ctx, e, o.Log); err != nil {
		lock.Close()
		return nil, e.opening("updating the schema of", err)
	}
	if db.reads, err = e.connect(reading); err != nil {
		lock.Close()
		return nil, e.opening("opening", err)
	}
	if db.writer, err = newWriter(e, o.Log); err != nil {
		db.reads.Close()
		lock.Close()
		return nil, e.opening("opening", err)
	}
	if err := db.resumeSealing(ctx); err != nil {
		return nil, errors.Join(e.opening("reading the data keys of", err), db.Close())
	}
	return db, nil
}

// Identity tells whether two addresses mean the same database.
func Identity(address string) (string, error) {
	e, err := engineOf(address)
	if err != nil {
		return "", err
	}
	return e.identity, nil
}

// WALSize is the size of SQLite's write-ahead log in bytes; 0 when there is none.
func (db *DB) WALSize() int64 { return db.engine.size() }

// Close waits for whoever holds the database (see Hold), five seconds at most, commits what was queued and closes it. Reads of a server that
// are still under way three seconds later are cut off, and so is what comes after them. Who holds it longer is told that it is
// not available.
func (db *DB) Close() error {
	defer db.end()
	defer time.AfterFunc(db.grace, db.end).Stop()
	if !db.holders.leave(db.held) {
		return nil
	}
	return errors.Join(db.writer.close(), db.reads.Close(), db.lock.Close())
}

// Hold keeps the database from being closed until release is called: for a request that began under a configuration
// which is then replaced. It reports false when the database is closed already, or about to be.
func (db *DB) Hold() (release func(), ok bool) { return db.holders.enter() }

// ballast is more than nearly all exports take on the disk.
var ballast = make([]byte, 64<<10)

// Ping tells whether exports could be accepted now: it commits a row of its own, as large as a large export.
func (db *DB) Ping(ctx context.Context) error {
	now := time.Now()
	return db.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(`INSERT INTO heartbeat (id, at, ballast) VALUES (1, $1, $2)
			ON CONFLICT (id) DO UPDATE SET at = excluded.at, ballast = excluded.ballast`, micros(now), ballast)
		return err
	})
}

// query runs a read that returns at most a page of rows.
func query[T any](ctx context.Context, db *DB, scan func(row) (T, error), q string, args ...any) ([]T, error) {
	if db.reading != nil {
		db.reading(q, args)
	}
	bounded, cancel := db.bounded(ctx)
	defer cancel()
	rows, err := db.reads.QueryContext(bounded, q, db.engine.arguments(args)...)
	if err != nil {
		return nil, unavailable(ctx, "reading", err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if errors.Is(err, errEnough) {
			return all, nil
		}
		if err != nil {
			return nil, unavailable(ctx, "reading a row", err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, unavailable(ctx, "reading rows", err)
	}
	return all, nil
}

// queryMap is query for rows of which each has a key of its own.
func queryMap[K comparable, V any](ctx context.Context, db *DB, scan func(row) (K, V, error), q string, args ...any) (map[K]V, error) {
	all := map[K]V{}
	_, err := query(ctx, db, func(r row) (struct{}, error) {
		key, value, err := scan(r)
		all[key] = value
		return struct{}{}, err
	}, q, args...)
	return all, err
}

// errEnough is what a scan says where a query need not go on.
var errEnough = errors.New("enough")

// queryOne is query for a single row; ErrNotFound when there is none.
func queryOne[T any](ctx context.Context, db *DB, scan func(row) (T, error), q string, args ...any) (T, error) {
	bounded, cancel := db.bounded(ctx)
	defer cancel()
	one, err := scan(db.reads.QueryRowContext(bounded, q, db.engine.arguments(args)...))
	if errors.Is(err, sql.ErrNoRows) {
		return one, ErrNotFound
	}
	if err != nil {
		return one, unavailable(ctx, "reading", err)
	}
	return one, nil
}

// bounded is the context of a read. A server that vanished without a word would otherwise hold whoever reads for a quarter of an hour,
// and Close with them. SQLite has no limit, and ends by itself.
func (db *DB) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if db.engine.limit == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, db.engine.limit)
	stop := context.AfterFunc(db.ending, cancel)
	return ctx, func() { stop(); cancel() }
}

type row interface{ Scan(...any) error }

// unavailable marks an error of the database itself, as opposed to the end of the reader's own context, as ErrUnavailable.
func unavailable(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}
