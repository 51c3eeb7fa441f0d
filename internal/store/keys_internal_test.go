package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hiregate/hiregate/internal/hiring"
)

// Whatever happens between two exports, the second one of a key is found to be one: transactions that fail, a connection that is
// lost, a process that ends, keys that wait in memory, are on their way into their table or there already, ids that lie behind.
func TestNoKeyIsTakenTwice(t *testing.T) {
	t.Parallel()
	settled, test := 0, t
	rapid.Check(t, func(t *rapid.T) {
		address := "sqlite://" + filepath.Join(test.TempDir(), "hiregate.db")
		var db *DB
		open := func() {
			var err error
			db, err = Open(context.Background(), address, Options{})
			require.NoError(t, err)
			db.engine.keys.generation = rapid.IntRange(1, 80).Draw(t, "generation")
		}
		open()
		defer func() { require.NoError(t, db.Close()) }()

		known := map[exportKey]*hiring.Export{}
		// put inserts some exports in one transaction, which ends as end says.
		put := func(t *rapid.T, end func(*Tx) error) (fresh map[exportKey]*hiring.Export, err error) {
			exports := rapid.SliceOfN(exports(), 1, 60).Draw(t, "exports")
			inserted := make([]bool, len(exports))
			err = db.Write(context.Background(), func(tx *Tx) (err error) {
				for n, e := range exports {
					if inserted[n], err = tx.InsertExport(e); err != nil {
						return err
					}
				}
				return end(tx)
			})
			fresh = map[exportKey]*hiring.Export{}
			for n, e := range exports {
				key := exportKey{e.Tenant, e.Key}
				require.Equal(t, known[key] == nil && fresh[key] == nil, inserted[n], "%v", key)
				if inserted[n] {
					fresh[key] = e
				}
			}
			return fresh, err
		}
		look := func(t *rapid.T, key exportKey) {
			var seen Seen
			var ok bool
			require.NoError(t, db.Write(context.Background(), func(tx *Tx) (err error) {
				seen, ok, err = tx.SeenExport(key.tenant, key.key)
				return err
			}))
			got, err := db.ExportByKey(context.Background(), key.tenant, key.key)
			if first := known[key]; first != nil {
				require.NoError(t, err)
				require.Equal(t, first.ID, got.ID)
				require.True(t, ok)
				require.Equal(t, first.Receipt, seen.Receipt)
			} else {
				require.ErrorIs(t, err, ErrNotFound)
				require.False(t, ok)
			}
		}
		failed := errors.New("failed")
		t.Repeat(map[string]func(*rapid.T){
			"accept": func(t *rapid.T) {
				fresh, err := put(t, func(*Tx) error { return nil })
				require.NoError(t, err)
				for key, e := range fresh {
					known[key] = e
				}
			},
			"fail": func(t *rapid.T) {
				_, err := put(t, func(*Tx) error { return failed })
				require.ErrorIs(t, err, failed)
			},
			"fail to commit": func(t *rapid.T) {
				_, err := put(t, func(tx *Tx) error {
					_, err := tx.exec(`PRAGMA defer_foreign_keys = ON`)
					if err == nil {
						_, err = tx.exec(`INSERT INTO export_bodies (export_id, body) VALUES (-1, x'01')`)
					}
					return err
				})
				require.ErrorIs(t, err, ErrUnavailable)
				require.ErrorContains(t, err, "committing")
			},
			"lose the connection": func(t *rapid.T) {
				_, err := put(t, func(tx *Tx) error { tx.broken = failed; return failed })
				require.ErrorIs(t, err, ErrUnavailable)
			},
			"open again": func(t *rapid.T) {
				require.NoError(t, db.Close())
				open()
			},
			"look": func(t *rapid.T) { look(t, someKey().Draw(t, "key")) },
		})
		for key := range known {
			look(t, key)
		}
		var exports, kept int
		require.NoError(t, db.reads.QueryRow(`SELECT (SELECT count(*) FROM exports), (SELECT count(*) FROM export_keys)`).Scan(&exports, &kept))
		require.Len(t, known, exports)
		settled += kept
	})
	require.NotZero(t, settled, "no key ever went into the table")
}

// However many exports there are, memory holds the keys of the latest alone, and a start reads no more of them.
func TestMemoryHoldsTheLatestKeysAlone(t *testing.T) {
	t.Parallel()
	address := "sqlite://" + filepath.Join(t.TempDir(), "hiregate.db")
	const generation = 2 * keysAtOnce
	open := func() (db *DB, held int) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		db.engine.keys.generation = generation
		return db, len(db.engine.keys.recent)
	}
	db, held := open()
	require.Zero(t, held)
	now := time.Now()
	for n := range 10 * generation {
		id := hiring.NewID(now)
		e := &hiring.Export{ID: id, Tenant: "acme", Key: fmt.Sprint(n), Receipt: fmt.Sprint(id), ReceivedAt: now, DocumentsTill: now, DeliverTill: now, Body: []byte("{}")}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			inserted, err := tx.InsertExport(e)
			require.True(t, inserted)
			held = max(held, len(tx.engine.keys.recent))
			return err
		}))
	}
	require.Less(t, held, 2*generation)
	require.NoError(t, db.Close())
	db, held = open()
	require.Less(t, held, 2*generation+generation/2, "those on their way into the table are read again, and those behind them")
	require.NoError(t, db.Close())
}

func someKey() *rapid.Generator[exportKey] {
	return rapid.Custom(func(t *rapid.T) exportKey {
		return exportKey{rapid.SampledFrom([]string{"acme", "acme-2", "b"}).Draw(t, "tenant"), fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "key"))}
	})
}

// exports are some whose ids rise, and some that waited long, or were made before the clock was set back.
func exports() *rapid.Generator[*hiring.Export] {
	return rapid.Custom(func(t *rapid.T) *hiring.Export {
		now := time.Now()
		key, id := someKey().Draw(t, "key"), hiring.NewID(now)
		if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
			id -= int64(rapid.IntRange(1, 1<<40).Draw(t, "by"))
		}
		return &hiring.Export{ID: id, Tenant: key.tenant, Key: key.key, Receipt: fmt.Sprint(id), ReceivedAt: now, DocumentsTill: now, DeliverTill: now, Body: []byte("{}")}
	})
}
