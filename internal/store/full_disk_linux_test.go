package store_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/fulldisktest"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// smallDisk has room for the tables, SQLite's log and some exports.
const smallDisk = 48 << 20

func TestPingFailsOnAFullDiskWithSQLite(t *testing.T) {
	fulldisktest.RunOn(t, smallDisk, func(t *testing.T, disk *fulldisktest.Disk) {
		path := filepath.Join(disk.Folder, "hiregate.db")
		storetest.Fill(t, path)
		pingFailsOnAFullDisk(t, disk, "sqlite://"+path)
	})
}

// The server has its log of changes elsewhere: on a full disk it would end.
func TestPingFailsOnAFullDiskWithPostgreSQL(t *testing.T) {
	fulldisktest.RunOn(t, smallDisk, func(t *testing.T, disk *fulldisktest.Disk) {
		pingFailsOnAFullDisk(t, disk, storetest.PostgresIn(t, disk.Folder))
	})
}

// pingFailsOnAFullDisk fills the disk of a database. While there is no room for an export, Ping fails, also where there
// is some for a smaller write.
func pingFailsOnAFullDisk(t *testing.T, disk *fulldisktest.Disk, address string) {
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	sent := 0
	accept := func(size int) error {
		body := make([]byte, size)
		_, _ = rand.Read(body) // never fails
		sent++
		return db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.InsertExport(export("acme", fmt.Sprint("u-", sent), string(body)))
			return err
		})
	}
	const large, small = 60_000, 100
	for range 3 {
		require.NoError(t, accept(large))
		require.NoError(t, db.Ping(t.Context()))
	}
	disk.Fill(t)
	for _, size := range []int{large, small} { // the room within the files is used first
		for accept(size) == nil {
			require.Less(t, sent, 10_000, "the disk is full, and exports are still taken")
		}
	}
	for _, left := range []int64{0, 24 << 10} {
		disk.Leave(t, left)
		for range 5 {
			require.ErrorIs(t, accept(large), store.ErrUnavailable)
			require.ErrorIs(t, db.Ping(t.Context()), store.ErrUnavailable, "an export finds no room")
		}
	}
	disk.Free(t)
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, accept(large))
}
