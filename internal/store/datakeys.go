package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/vault"
)

// The content of exports is sealed with data keys, and only the data keys are sealed with the key of the configuration:
// changing that key re-encrypts a few rows, whatever the number of exports. A configuration that can't open a data key
// is refused, so a data key stays usable across reloads.

// dataKeyTime is how long a data key seals. It opens for good. Nonces are random, and no two of a data key's for one
// part must be the same: for fewer than 2^32 of them that is as good as sure, which is 1,600 exports a second in all
// that time.
const dataKeyTime = 30 * 24 * time.Hour

// dataKeyID is the length of a data key's id in what it sealed, in bytes.
const dataKeyID = 8

// What is sealed of an export. Each opens as nothing else.
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

// seal seals a part of an export for its row. It returns nil where there is no data key.
func (k *dataKeys) seal(part, row string, kept []byte) ([]byte, error) {
	key := k.newest.Load()
	if key == nil {
		return nil, nil
	}
	sealed := append(make([]byte, 0, 1+dataKeyID+vault.Overhead+len(kept)), keyedBody)
	return key.vault.AppendSealed(append(sealed, key.id...), part, row, kept)
}

const errChanged = unreadable("it was changed in the database, or is another row's: restore it from a backup")

// openPart opens a part of an export; one that is not sealed stays as it is.
func (db *DB) openPart(ctx context.Context, part, row string, kept []byte) ([]byte, error) {
	if len(kept) == 0 || kept[0] != keyedBody {
		return kept, nil
	}
	if len(kept) < 1+dataKeyID {
		return nil, fmt.Errorf("opening the %s (%s): %w", part, row, errChanged)
	}
	key, err := db.dataKey(ctx, string(kept[1:1+dataKeyID]))
	if err != nil {
		return nil, err
	}
	plain, err := key.vault.Open(part, row, kept[1+dataKeyID:])
	if errors.Is(err, vault.ErrSealed) {
		return nil, fmt.Errorf("opening the %s (%s): %w", part, row, errChanged)
	}
	return plain, err
}

// dataKey finds a data key, which another node may have made.
func (db *DB) dataKey(ctx context.Context, id string) (*dataKey, error) {
	if known, ok := db.dataKeys.known.Load(id); ok {
		return known.(*dataKey), nil
	}
	key, err := db.readDataKey(ctx, `WHERE id = $1`, hex.EncodeToString([]byte(id)))
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: the data key %x is not in the database any more: restore the table data_keys from a "+
			"backup", ErrUnreadable, id)
	}
	if err == nil {
		db.dataKeys.known.Store(id, key)
	}
	return key, err
}

func (db *DB) readDataKey(ctx context.Context, which string, args ...any) (*dataKey, error) {
	type columns struct {
		secretRow
		made time.Time
	}
	kept, err := rows.QueryOne(ctx, db.reads, func(r row) (c columns, err error) {
		err = r.Scan(&c.tenant, &c.kept, rows.Time(&c.made))
		return c, err
	}, `SELECT id, sealed, created_at FROM data_keys `+which, args...)
	if err != nil {
		return nil, err
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
	return nil
}

func (db *DB) newestDataKey(ctx context.Context) (*dataKey, error) {
	return db.readDataKey(ctx, `ORDER BY created_at DESC, id DESC LIMIT 1`)
}

// RenewDataKey seals from now on with a data key that is not older than a month, and makes one where there is none:
// then it reports true. Without a key that all configurations have nothing changes. CheckSecrets must not run
// meanwhile: it would miss the new data key.
func (db *DB) RenewDataKey(ctx context.Context, now time.Time) (made bool, err error) {
	current := func(key *dataKey) bool { return key != nil && now.Before(key.made.Add(dataKeyTime)) }
	if current(db.dataKeys.newest.Load()) || !db.vaults.HasKey() {
		return false, nil
	}
	key, err := db.newestDataKey(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return false, err
	case current(key):
		db.dataKeys.adopt(key) // another node's
		return false, nil
	}
	key, kept, err := newDataKey(db.vaults, now)
	if err != nil || !kept.sealed() { // a configuration without the key has begun just now
		return false, err
	}
	err = db.Write(ctx, func(tx *Tx) error {
		return tx.sql.Run(`INSERT INTO data_keys (id, sealed, created_at) VALUES ($1, $2, $3)`,
			kept.tenant, kept.kept, rows.Micros(now))
	})
	if err != nil {
		return false, fmt.Errorf("keeping a data key: %w", err)
	}
	db.dataKeys.adopt(key)
	return true, nil
}

func newDataKey(s sealer, now time.Time) (*dataKey, secretRow, error) {
	random := make([]byte, dataKeyID+vault.MinText)
	_, _ = rand.Read(random) // never fails
	id, text := random[:dataKeyID], random[dataKeyID:]
	v, err := vault.New(string(text))
	if err != nil {
		return nil, secretRow{}, err
	}
	kept := secretRow{tenant: hex.EncodeToString(id)}
	kept.kept, err = kept.seal(dataKeySecrets, s, wrapBody(text))
	return &dataKey{string(id), now, v}, kept, err
}
