package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/vault"
)

// The content of exports, and what is held of people (people.go), are sealed with data keys, and only the data keys are
// sealed with the key of the configuration: changing that key re-encrypts a few rows, whatever the number of exports. A
// configuration that can't open a data key is refused, so a data key stays usable across reloads.

// dataKeyTime is how long a data key seals. It opens for good. Nonces are random, and no two of a data key's for one
// part must be the same: for fewer than 2^32 of them that is as good as sure, which is 1,600 exports a second in all
// that time.
const dataKeyTime = 30 * 24 * time.Hour

// dataKeyID is the length of a data key's id in what it sealed, in bytes.
const dataKeyID = 8

// What is sealed of an export. Each opens as nothing else. Those of people are in people.go.
const (
	headersAndBody  = "headers and body of an export"
	outgoingBody    = "outgoing body of an export"
	addressAndName  = "address and name of a document"
	receiversAnswer = "answer of a receiver"
	documentsFile   = "file of a document"
)

// dataKeys are the data keys that this process has read.
type dataKeys struct {
	newest atomic.Pointer[dataKey] // seals; nil: the content of exports is not sealed
	search atomic.Pointer[dataKey] // hashes; nil: what is held of people is neither sealed nor hashed. See people.go
	known  sync.Map                // of an id, a *dataKey
}

type dataKey struct {
	id    string
	made  time.Time
	vault *vault.Vault
}

// adopt makes a data key the one that seals.
func (k *dataKeys) adopt(key *dataKey) {
	k.known.Store(key.id, key)
	k.newest.Store(key)
}

// seal seals a part for its row. It returns nil where there is no data key.
func (k *dataKeys) seal(part, row string, kept []byte) ([]byte, error) {
	key := k.newest.Load()
	if key == nil {
		return nil, nil
	}
	sealed := append(make([]byte, 0, 1+dataKeyID+vault.Overhead+len(kept)), keyedBody)
	return key.vault.AppendSealed(append(sealed, key.id...), part, row, kept)
}

const errChanged = unreadable("it was changed in the database, or is another row's: restore it from a backup")

// opening opens parts: DB.opening outside of transactions, Tx.openPart within one.
type opening func(part, row string, kept []byte) ([]byte, error)

func (db *DB) opening(ctx context.Context) opening {
	return func(part, row string, kept []byte) ([]byte, error) { return db.openPart(ctx, part, row, kept) }
}

// openPart opens a part; one that is not sealed stays as it is.
func (db *DB) openPart(ctx context.Context, part, row string, kept []byte) ([]byte, error) {
	return db.openWith(db.keysOutside(ctx), part, row, kept)
}

// openPart is DB.openPart within a transaction. Nothing else is being read with it at the time.
func (tx *Tx) openPart(part, row string, kept []byte) ([]byte, error) {
	return tx.db.openWith(tx.keysWithin, part, row, kept)
}

func (db *DB) openWith(keys keyReader, part, row string, kept []byte) ([]byte, error) {
	if !isKeyed(kept) {
		return kept, nil
	}
	damaged := func() error {
		return fmt.Errorf("opening the %s (%s): %w", part, strings.ReplaceAll(row, "\x00", "/"), errChanged)
	}
	if len(kept) < 1+dataKeyID {
		return nil, damaged()
	}
	key, err := db.dataKey(keys, string(kept[1:1+dataKeyID]))
	if err != nil {
		return nil, err
	}
	plain, err := key.vault.Open(part, row, kept[1+dataKeyID:])
	if errors.Is(err, vault.ErrSealed) {
		return nil, damaged()
	}
	return plain, err
}

func isKeyed(kept []byte) bool { return len(kept) > 0 && kept[0] == keyedBody }

// keyReader reads data keys as they are stored.
type keyReader func(which string, args ...any) ([]keptDataKey, error)

type keptDataKey struct {
	secretRow
	made time.Time
}

func scanDataKey(r row) (c keptDataKey, err error) {
	err = r.Scan(&c.tenant, &c.kept, rows.Time(&c.made))
	return c, err
}

const dataKeyColumns = `SELECT id, sealed, created_at FROM data_keys `

func (db *DB) keysOutside(ctx context.Context) keyReader {
	return func(which string, args ...any) ([]keptDataKey, error) {
		return rows.Query(ctx, db.reads, scanDataKey, dataKeyColumns+which, args...)
	}
}

func (tx *Tx) keysWithin(which string, args ...any) ([]keptDataKey, error) {
	return rows.QueryTx(tx.sql, scanDataKey, dataKeyColumns+which, args...)
}

// dataKey finds a data key, which another node may have made.
func (db *DB) dataKey(keys keyReader, id string) (*dataKey, error) {
	if known, ok := db.dataKeys.known.Load(id); ok {
		return known.(*dataKey), nil
	}
	key, err := db.readDataKey(keys, `WHERE id = $1`, hex.EncodeToString([]byte(id)))
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: the data key %x is not in the database any more: restore the table data_keys from a "+
			"backup", ErrUnreadable, id)
	}
	if err == nil {
		db.dataKeys.known.Store(id, key)
	}
	return key, err
}

func (db *DB) readDataKey(keys keyReader, which string, args ...any) (*dataKey, error) {
	kept, there, err := rows.First(keys(which, args...))
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, ErrNotFound
	}
	id, err := hex.DecodeString(kept.tenant)
	if err != nil {
		return nil, fmt.Errorf("reading a data key: %w", errChanged)
	}
	text, err := kept.openSecret(dataKeySecrets, db.vaults)
	if err != nil {
		return nil, err
	}
	v, err := vault.New(string(text))
	return &dataKey{string(id), kept.made, v}, err
}

// Sealing reports whether the content of exports is sealed.
func (db *DB) Sealing() bool { return db.dataKeys.newest.Load() != nil }

// SealFileKey seals the key of a document's file for its name. It is an error where there is nothing to seal it with.
func (db *DB) SealFileKey(name string, key []byte) ([]byte, error) {
	sealed, err := db.dataKeys.seal(documentsFile, name, key)
	if err == nil && sealed == nil {
		err = errors.New("there is no data key to seal it with")
	}
	return sealed, err
}

// OpenFileKey opens what SealFileKey sealed.
func (db *DB) OpenFileKey(ctx context.Context, name string, sealed []byte) ([]byte, error) {
	return db.openPart(ctx, documentsFile, name, sealed)
}

// resumeSealing seals with the newest data key from the first write on. A key that can't be opened is left to
// CheckSecrets.
func (db *DB) resumeSealing(ctx context.Context) error {
	if !db.vaults.HasKey() {
		return nil
	}
	key, err := db.newestDataKey(ctx)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrSealed), errors.Is(err, errChanged):
		return nil
	case err != nil:
		return err
	}
	db.dataKeys.adopt(key)
	return db.readSearchKey(ctx)
}

func (db *DB) newestDataKey(ctx context.Context) (*dataKey, error) {
	return db.readDataKey(db.keysOutside(ctx), `ORDER BY created_at DESC, id DESC LIMIT 1`)
}

// RenewDataKey seals from now on with a data key that is not older than a month, and makes one where there is none:
// then it reports true. It makes the search key as well. Without a key that all configurations have nothing changes.
// CheckSecrets must not run meanwhile: it would miss the new data key.
func (db *DB) RenewDataKey(ctx context.Context, now time.Time) (made bool, err error) {
	if key := db.dataKeys.newest.Load(); key == nil || !key.seals(now) {
		if made, err = db.makeDataKey(ctx, now); err != nil {
			return made, err
		}
	}
	if db.dataKeys.newest.Load() == nil || db.dataKeys.search.Load() != nil {
		return made, nil
	}
	return made, db.makeSearchKey(ctx)
}

// seals reports whether it is young enough to seal.
func (k *dataKey) seals(now time.Time) bool { return now.Before(k.made.Add(dataKeyTime)) }

func (db *DB) makeDataKey(ctx context.Context, now time.Time) (made bool, err error) {
	if !db.vaults.HasKey() {
		return false, nil
	}
	key, err := db.newestDataKey(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return false, err
	case key.seals(now):
		db.dataKeys.adopt(key) // another node's
		return false, nil
	}
	random := make([]byte, dataKeyID)
	_, _ = rand.Read(random) // never fails
	key, kept, err := newDataKey(string(random), db.vaults, now)
	if err != nil || !kept.sealed() { // a configuration without the key has begun just now
		return false, err
	}
	if err := db.insertDataKey(ctx, kept, now); err != nil {
		return false, err
	}
	db.dataKeys.adopt(key)
	return true, nil
}

// insertDataKey inserts a data key, unless there is one with its id.
func (db *DB) insertDataKey(ctx context.Context, kept secretRow, made time.Time) error {
	err := db.Write(ctx, func(tx *Tx) error {
		return tx.sql.Run(`INSERT INTO data_keys (id, sealed, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			kept.tenant, kept.kept, made.UnixMicro())
	})
	if err != nil {
		return fmt.Errorf("keeping a data key: %w", err)
	}
	return nil
}

func newDataKey(id string, s sealer, now time.Time) (*dataKey, secretRow, error) {
	text := make([]byte, vault.MinText)
	_, _ = rand.Read(text) // never fails
	v, err := vault.New(string(text))
	if err != nil {
		return nil, secretRow{}, err
	}
	kept := secretRow{tenant: hex.EncodeToString([]byte(id))}
	kept.kept, err = kept.seal(dataKeySecrets, s, wrapBody(text))
	return &dataKey{id, now, v}, kept, err
}
