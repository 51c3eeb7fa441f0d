package database

import (
	"context"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// tables are one that tells the database from another program's, with a row whose version tests write.
var tables = fstest.MapFS{"00001_exports.sql": {Data: []byte(`-- +goose Up
CREATE TABLE exports (id $ROWID, name $KEY, version BIGINT NOT NULL);
INSERT INTO exports (id, version) VALUES (1, 0);
`)}}

func open(t *testing.T, address string) *DB {
	t.Helper()
	db, err := Open(t.Context(), address, tables, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// empty is a database on SQLite.
func empty(t *testing.T) *DB {
	t.Helper()
	return open(t, "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"))
}

// behind is a database on PostgreSQL behind a wire.
func behind(t *testing.T) (*storetest.Wire, *DB) {
	t.Helper()
	wire := storetest.NewWire(t, storetest.Postgres(t))
	return wire, open(t, wire.Address)
}

// touch raises the version of the row.
func touch(tx *Tx) error {
	_, err := tx.Exec(`UPDATE exports SET version = version + 1`)
	return err
}

// version reads the version of the row.
func (db *DB) version(ctx context.Context) (version int, err error) {
	err = db.Query(ctx, func(r Row) error { return r.Scan(&version) }, `SELECT version FROM exports`)
	return version, err
}
