package database

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// logged is a database in use, with a write-ahead log.
type logged struct {
	t    *testing.T
	path string
	*sql.DB
}

func newLogged(t *testing.T) logged {
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db := sql.OpenDB(&sqliteConnector{sqliteFile(path), `PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;
		PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 5`})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	l := logged{t, path, db}
	l.run(`CREATE TABLE exports (id INTEGER PRIMARY KEY, body BLOB)`, `CREATE TABLE goose_db_version (id INTEGER)`)
	return l
}

func (l logged) run(statements ...string) {
	l.t.Helper()
	for _, s := range statements {
		_, err := l.Exec(s)
		require.NoError(l.t, err, s)
	}
}

// insert is a transaction of a number of pages.
func (l logged) insert(pages int) {
	l.t.Helper()
	l.run(fmt.Sprintf(`INSERT INTO exports (body) VALUES (randomblob(%d))`, pages*8100))
}

// rollBack writes more to the log than the cache holds, and gives it up.
func (l logged) rollBack() {
	l.t.Helper()
	l.run(`BEGIN`)
	for range 4 {
		l.insert(6)
	}
	l.run(`ROLLBACK`)
}

// log returns what is in the log now.
func (l logged) log() []byte {
	l.t.Helper()
	raw, err := os.ReadFile(l.path + "-wal")
	require.NoError(l.t, err)
	return raw
}

// crashed is the database as a power cut leaves it, with another log.
func (l logged) crashed(log []byte) string {
	l.t.Helper()
	raw, err := os.ReadFile(l.path)
	require.NoError(l.t, err)
	path := filepath.Join(l.t.TempDir(), "hiregate.db")
	require.NoError(l.t, os.WriteFile(path, raw, 0o600))
	require.NoError(l.t, os.WriteFile(path+"-wal", log, 0o600))
	return path
}

const frameSize = 8192 + frameHeaderSize

// commits returns where the transactions of a log end, in bytes.
func commits(log []byte) (all []int) {
	for at := logHeaderSize; at+frameSize <= len(log); at += frameSize {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			all = append(all, at+frameSize)
		}
	}
	return all
}

// SQLite drops, without a word, all transactions from the damaged one on. A start finds that before SQLite opens the
// file, wherever the bit is.
func TestFlippedBitInTheLog(t *testing.T) {
	t.Parallel()
	l := newLogged(t)
	for n := range 8 {
		l.insert(1 + n%3)
	}
	log := l.log()
	ends := commits(log)
	known := ends[len(ends)-2] // behind it is the last transaction, which a power cut may have left like that
	path := l.crashed(log)
	var places []int
	for bit := range 8 * logHeaderSize {
		places = append(places, bit)
	}
	for at := logHeaderSize; at < known; at += frameSize {
		for bit := 8 * at; bit < 8*(at+frameHeaderSize); bit += 5 {
			places = append(places, bit)
		}
		places = append(places, 8*at+8*frameHeaderSize+7, 8*(at+4000)+3, 8*(at+frameSize)-8)
	}
	for _, bit := range places {
		log[bit/8] ^= 1 << (bit % 8)
		// The one bit that can't be told: without it the last two transactions look like one.
		if binary.BigEndian.Uint32(log[known-frameSize+4:]) == 0 {
			log[bit/8] ^= 1 << (bit % 8)
			continue
		}
		require.NoError(t, os.WriteFile(path+"-wal", log, 0o600))
		damage, err := findLogDamage(path)
		require.NoError(t, err)
		require.NotNil(t, damage, "bit %d of byte %d", bit%8, bit/8)
		require.Positive(t, damage.lost)
		log[bit/8] ^= 1 << (bit % 8)
	}
	require.NoError(t, os.WriteFile(path+"-wal", log, 0o600))
	damage, err := findLogDamage(path)
	require.NoError(t, err)
	require.Nil(t, damage, "the whole log")
}

// Whatever a power cut in the middle of the last transaction leaves of it, and whatever was in its place before, a start
// goes on: nobody was told that it was written.
func TestPowerCutIsNoDamage(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(logged){
		"a new log":                          func(l logged) { l.insert(1); l.insert(2) },
		"only this transaction":              func(logged) {},
		"behind a transaction of many pages": func(l logged) { l.insert(60); l.insert(1) },
		"where one was given up":             func(l logged) { l.insert(1); l.rollBack(); l.insert(2) },
		"where two were given up":            func(l logged) { l.rollBack(); l.insert(1); l.rollBack() },
		"over an earlier log": func(l logged) {
			for n := range 40 {
				l.insert(1 + n%4)
			}
			l.run(`PRAGMA wal_checkpoint(RESTART)`)
			l.insert(3)
			l.insert(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			l := newLogged(t)
			l.run(`PRAGMA wal_checkpoint(TRUNCATE)`)
			before(l)
			old := l.log()
			l.insert(5)
			done := l.log()
			path := l.crashed(done)
			for try := range 300 {
				cut := append([]byte(nil), done...)
				copy(cut, make([]byte, len(cut)))
				copy(cut, old)
				kept := random.Float64()
				for at := 0; at < len(done); at += sectorSize {
					if random.Float64() < kept {
						copy(cut[at:min(at+sectorSize, len(cut))], done[at:])
					}
				}
				if len(old) == 0 { // the header is synced before the first frame
					copy(cut, done[:logHeaderSize])
				}
				if try%3 == 0 {
					cut = cut[:max(len(old), random.IntN(len(cut)))]
				}
				require.NoError(t, os.WriteFile(path+"-wal", cut, 0o600))
				damage, err := findLogDamage(path)
				require.NoError(t, err)
				require.Nil(t, damage, "try %d", try)
			}
		})
	}
}

// A damaged log ends the start, with a copy of the log and the command that goes on. After that command the database is
// what it was before the damage.
func TestDamagedLogEndsTheStart(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"))
	for range 5 {
		require.NoError(t, db.Write(t.Context(), "", touch))
	}
	l := logged{t: t, path: db.String()}
	log := l.log()
	ends := commits(log)
	log[ends[len(ends)-4]+100] ^= 4 // in the third but last
	path := l.crashed(log)
	address := "sqlite://" + path

	var name string
	for range 2 { // a gateway may be started again and again
		_, err := Open(t.Context(), address, tables, zap.NewNop())
		require.ErrorIs(t, err, ErrDamagedLog)
		require.ErrorContains(t, err, "at least 3 transactions until 20")
		require.ErrorContains(t, err, "hiregate database cut-log "+address)
		_, err = Try(t.Context(), address, tables)
		require.ErrorIs(t, err, ErrDamagedLog, "validate --live would have opened it")
		copies, err := filepath.Glob(path + "-wal.damaged-*")
		require.NoError(t, err)
		require.Len(t, copies, 1)
		name = copies[0]
		kept, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, log, kept)
	}
	raw, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.Equal(t, log, raw, "the log was changed")

	said, err := CutLog(t.Context(), address)
	require.NoError(t, err)
	require.Contains(t, said, name)
	again := open(t, address)
	version, err := again.version(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, version)
}

func TestCutLogChangesNothingThatIsWhole(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"))
	require.NoError(t, db.Write(t.Context(), "", touch))
	l := logged{t: t, path: db.String()}
	log := l.log()
	path := l.crashed(log)
	said, err := CutLog(t.Context(), "sqlite://"+path)
	require.NoError(t, err)
	require.Contains(t, said, "nothing was changed")
	raw, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.Equal(t, log, raw)
	for address, want := range map[string]string{
		"sqlite://" + db.String():              "in use",
		"sqlite://" + path + ".missing":        "correct its name",
		"postgres://hiregate@localhost/nobody": "no write-ahead log of SQLite",
	} {
		_, err := CutLog(t.Context(), address)
		require.ErrorContains(t, err, want)
	}
}
