package walvfs_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/fulldisk"
	"github.com/hiregate/hiregate/internal/walvfs"
)

// The disk is full anywhere among the writes of a transaction that is larger than the cache and reads what it wrote. What fails is
// rolled back; what was committed stays, and the next transaction, once there is room, is committed.
func TestFullDisk(t *testing.T) { fulldisk.Run(t, fillDisk) }

func fillDisk(t *testing.T, room func(bytes uint64)) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, walvfs.Name, "FULL")
	run(t, db, "CREATE TABLE kept (key INTEGER PRIMARY KEY, value BLOB NOT NULL)")
	run(t, db, "PRAGMA wal_autocheckpoint = 0")
	kept := map[int]string{}
	failed := map[string]int{}
	for range 300 {
		wal, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		room(uint64(wal.Size()) + uint64(random.IntN(300<<10)))
		changed, doing, err := change(db, random, kept)
		room(fulldisk.Whole)
		if err == nil {
			kept = changed
		} else {
			failed[doing]++
		}
		require.Equal(t, kept, contents(t, db), "seed %d", seed)
		value := fmt.Sprint(random.Uint64())
		run(t, db, "INSERT INTO kept VALUES (0, ?) ON CONFLICT DO UPDATE SET value = excluded.value", value)
		kept[0] = value
		if random.IntN(8) == 0 {
			run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
			run(t, db, "INSERT INTO kept VALUES (0, ?) ON CONFLICT DO UPDATE SET value = excluded.value", value)
		}
	}
	for _, doing := range []string{"writing", "copying", "committing"} {
		require.NotZero(t, failed[doing], "nothing failed while it was %s; seed %d", doing, seed)
	}
}

// change writes within a transaction, and copies what it wrote. It gives what is kept then, and tells what it was doing when something
// failed. What it copies may fail by itself: the transaction must then be gone, or whole but for that.
func change(db *sql.DB, random *rand.Rand, kept map[int]string) (changed map[int]string, doing string, err error) {
	tx, err := db.Begin()
	if err != nil {
		return nil, "beginning", err
	}
	defer tx.Rollback()
	changed = maps.Clone(kept)
	for range 1 + random.IntN(100) {
		key, value := 1+random.IntN(300), strings.Repeat(fmt.Sprint(random.IntN(10)), 1+random.IntN(3000))
		if _, err := tx.Exec("INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", key, value); err != nil {
			return nil, "writing", err
		}
		changed[key] = value
		if random.IntN(10) > 0 {
			continue
		}
		_, err := tx.Exec("INSERT OR ABORT INTO kept SELECT key + 1000, value FROM kept WHERE key BETWEEN ? AND ? + 20 ON CONFLICT DO UPDATE SET value = excluded.value", key, key)
		if err != nil {
			doing = "copying"
			break
		}
		for from := key; from <= key+20; from++ {
			if value, ok := changed[from]; ok {
				changed[from+1000] = value
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, cmp.Or(doing, "committing"), err
	}
	return changed, doing, nil
}
