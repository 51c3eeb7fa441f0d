// Package store keeps exports, their deliveries and their documents, and what the service role knows, durably, in a
// database of package database.
//
// Times are kept as integer microseconds UTC, bodies and header values as bytes.
package store

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/vault"
)

var (
	// ErrUnavailable is database.ErrUnavailable.
	ErrUnavailable = database.ErrUnavailable
	// ErrDamagedLog is database.ErrDamagedLog.
	ErrDamagedLog = database.ErrDamagedLog
	// ErrNotFound says that there is no such row.
	ErrNotFound = rows.ErrNotFound
	// ErrTaken says that a value that must be unique belongs to another row.
	ErrTaken = rows.ErrTaken
	// ErrStale says that another request changed, inserted or deleted a row since it was read.
	ErrStale = errors.New("it was changed meanwhile")
)

//go:embed migrations/*.sql
var migrations embed.FS

type row = database.Row

// Page asks for a part of a list that is ordered by id.
type Page = rows.Page

// Sizes of pages.
const (
	DefaultPage = rows.DefaultPage
	MaxPage     = rows.MaxPage
)

// DB is an open database. Make it with Open; it is safe for concurrent use.
type DB struct {
	access.DB
	sql        *database.DB
	reads      rows.Reader // sql
	vaults     *vault.Shared
	dataKeys   dataKeys
	subscribed subscribed
	node       string // the owner of leases; empty: no other process can use the database
}

// Tx is the open transaction that a closure given to Write writes with. It must not be used after the closure returns.
type Tx struct {
	access.Tx
	sql *database.Tx
	db  *DB
}

// Options are the optional settings of Open.
type Options struct {
	Log *zap.Logger
	// Vaults seal secrets and data keys. Nil: nothing is sealed.
	Vaults *vault.Shared
}

// Open is database.Open with the tables of this package.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Vaults == nil {
		o.Vaults = new(vault.Shared)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	opened, err := database.Open(ctx, address, files, o.Log)
	if err != nil {
		return nil, err
	}
	db := &DB{DB: access.Reading(opened), sql: opened, reads: opened, vaults: o.Vaults}
	if !db.Exclusive() {
		db.node = rand.Text()
	}
	if err := db.ReadSubscribed(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the subscriptions of the database %s: %w", opened, err), db.Close())
	}
	if err := db.resumeSealing(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the data keys of the database %s: %w", opened, err), db.Close())
	}
	return db, nil
}

// Identity is equal for two addresses of the same database.
func Identity(address string) (string, error) { return database.Identity(address) }

// Close is database.DB.Close.
func (db *DB) Close() error { return db.sql.Close() }

// Acquire is database.DB.Acquire.
func (db *DB) Acquire() (release func(), ok bool) { return db.sql.Acquire() }

// WALSize is the size of SQLite's write-ahead log in bytes; 0 when there is none.
func (db *DB) WALSize() int64 { return db.sql.WALSize() }

// Exclusive reports whether no other process can use the database, so that what is begun when this one starts was left
// by one that has ended.
func (db *DB) Exclusive() bool { return !db.sql.Shared() }

// Work is database.DB.Work.
func (db *DB) Work() database.Work { return db.sql.Work() }

// Size reads the size of the database in bytes.
func (db *DB) Size(ctx context.Context) (bytes int64, err error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[int64], db.sql.Size())
}

// Damage is database.Damage.
type Damage = database.Damage

// Damage is database.DB.Damage.
func (db *DB) Damage() Damage { return db.sql.Damage() }

// Examine is database.DB.Examine.
func (db *DB) Examine(ctx context.Context, now time.Time) error { return db.sql.Examine(ctx, now) }

// Write is database.DB.Write without a key: fn may run more than once and must only assign to what it captures.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return db.WriteOrdered(ctx, "", fn)
}

// WriteOrdered is database.DB.Write.
func (db *DB) WriteOrdered(ctx context.Context, key string, fn func(*Tx) error) error {
	return db.sql.Write(ctx, key, func(tx *database.Tx) error { return fn(&Tx{access.Within(tx), tx, db}) })
}

// ballastSize is more than nearly all exports take on the disk, in bytes.
const ballastSize = 64 << 10

// Ping fails unless exports could be accepted now: it commits a row as large as a large export.
func (db *DB) Ping(ctx context.Context) error {
	now, ballast := time.Now(), make([]byte, ballastSize)
	_, _ = rand.Read(ballast) // it never fails; SQLite does not write what did not change, PostgreSQL would compress it
	return db.Write(ctx, func(tx *Tx) error {
		err := tx.sql.Run(`INSERT INTO heartbeat (id, at, ballast) VALUES (1, $1, $2)
			ON CONFLICT (id) DO UPDATE SET at = excluded.at, ballast = excluded.ballast`, rows.Micros(now), ballast)
		if err != nil {
			return err
		}
		return tx.sql.TryRoom(ballast)
	})
}
