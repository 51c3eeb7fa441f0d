package store

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/database"
)

const selectID = `SELECT id FROM identity`

// ID returns the id of the database, a UUID. It is made at the first call. A backup of the database has the same one.
func (db *DB) ID(ctx context.Context) (string, error) {
	id, err := db.readID(ctx)
	if err != nil || id != "" {
		return id, err
	}
	err = db.Write(ctx, func(tx *Tx) error {
		return tx.sql.Run(`INSERT INTO identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, uuid.NewString())
	})
	if err != nil {
		return "", fmt.Errorf("making the id of the database: %w", err)
	}
	return db.readID(ctx) // another node may have made it
}

func (db *DB) readID(ctx context.Context) (id string, err error) {
	err = db.reads.Query(ctx, func(r row) error { return r.Scan(&id) }, selectID)
	return id, err
}

// Try is database.Try with the tables of this package.
func Try(ctx context.Context, address string) (database.Trial, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return database.Trial{}, err
	}
	return database.Try(ctx, address, files)
}

// PeekID returns the id of the database at an address, which it neither claims nor changes; empty: it has none yet, or
// there is no such database.
func PeekID(ctx context.Context, address string) (id string, err error) {
	err = peeked(address).Query(ctx, func(r row) error { return r.Scan(&id) }, selectID)
	return id, err
}

// peeked is the address of a database that is read without being opened.
type peeked string

// Query is database.Peek.
func (p peeked) Query(ctx context.Context, each func(row) error, q string, args ...any) error {
	return database.Peek(ctx, string(p), each, q, args...)
}
