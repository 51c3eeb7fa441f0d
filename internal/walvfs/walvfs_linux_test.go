package walvfs_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/walvfs"
)

// open gives one connection to a database in write-ahead mode. A small cache makes a transaction write pages before it ends.
func open(t *testing.T, path, vfs, synchronous string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?vfs="+vfs)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, pragma := range []string{"journal_mode = WAL", "synchronous = " + synchronous, "cache_size = 20", "wal_autocheckpoint = 300"} {
		run(t, db, "PRAGMA "+pragma)
	}
	return db
}

func run(t *testing.T, db *sql.DB, q string, args ...any) {
	t.Helper()
	_, err := db.Exec(q, args...)
	require.NoError(t, err, q)
}

// Each page takes two calls without the layer.
func TestACommitTakesFewSystemCalls(t *testing.T) {
	calls := func(vfs string) int {
		db := open(t, filepath.Join(t.TempDir(), "a.db"), vfs, "FULL")
		run(t, db, "CREATE TABLE pages (content BLOB)")
		run(t, db, "PRAGMA cache_size = 1000")
		before := writes(t)
		run(t, db, "INSERT INTO pages SELECT zeroblob(3000) FROM json_each(?)", "["+strings.Repeat("0,", 99)+"0]")
		return writes(t) - before
	}
	without, with := calls("unix"), calls(walvfs.Name)
	require.Greater(t, without, 200)
	require.Less(t, with, 20)
}

// writes is how many calls that write this process has made.
func writes(t *testing.T) int {
	raw, err := os.ReadFile("/proc/self/io")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(raw), "syscw: ")
	require.True(t, ok)
	count, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(count)
	require.NoError(t, err)
	return n
}

// What is committed is seen by other connections, and is there after the process ends without a word, whose files a copy is:
// with every way to sync, when transactions are larger than the cache, and when some are rolled back.
func TestWhatIsCommittedIsInTheFiles(t *testing.T) {
	for _, synchronous := range []string{"OFF", "NORMAL", "FULL"} {
		t.Run(synchronous, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path := filepath.Join(folder, "a.db")
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			db := open(t, path, walvfs.Name, synchronous)
			run(t, db, "CREATE TABLE kept (key INTEGER PRIMARY KEY, value BLOB)")
			other := open(t, path, walvfs.Name, synchronous)

			kept := map[int]string{}
			for round := range 60 {
				tx, err := db.Begin()
				require.NoError(t, err)
				changed := map[int]string{}
				for range 1 + random.IntN(200) {
					key, value := random.IntN(400), fmt.Sprintf("%0*d", 1+random.IntN(3000), random.Uint64())
					_, err := tx.Exec("INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", key, value)
					require.NoError(t, err)
					changed[key] = value
				}
				for key, value := range changed { // also pages that went to the log already
					var got string
					require.NoError(t, tx.QueryRow("SELECT value FROM kept WHERE key = ?", key).Scan(&got))
					require.Equal(t, value, got)
				}
				if random.IntN(4) == 0 {
					require.NoError(t, tx.Rollback())
				} else {
					require.NoError(t, tx.Commit())
					for key, value := range changed {
						kept[key] = value
					}
				}
				require.Equal(t, kept, contents(t, other))

				crashed := filepath.Join(folder, fmt.Sprint("crashed-", round, ".db"))
				for _, end := range []string{"", "-wal"} {
					raw, err := os.ReadFile(path + end)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(crashed+end, raw, 0o600))
				}
				after := open(t, crashed, walvfs.Name, synchronous)
				require.Equal(t, kept, contents(t, after))
				require.NoError(t, after.Close())
			}
			require.NoError(t, other.Close())
			require.NoError(t, db.Close())
			require.NoFileExists(t, path+"-wal")
			require.Equal(t, kept, contents(t, open(t, path, "unix", synchronous)))
		})
	}
}

// contents reads a database whose pages must be sound.
func contents(t *testing.T, db *sql.DB) map[int]string {
	t.Helper()
	var sound string
	require.NoError(t, db.QueryRow("PRAGMA integrity_check").Scan(&sound))
	require.Equal(t, "ok", sound)
	rows, err := db.Query("SELECT key, value FROM kept")
	require.NoError(t, err)
	defer rows.Close()
	all := map[int]string{}
	for rows.Next() {
		var key int
		var value string
		require.NoError(t, rows.Scan(&key, &value))
		all[key] = value
	}
	require.NoError(t, rows.Err())
	return all
}
