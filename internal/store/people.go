package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/digest"
)

// What the service role holds of people is sealed as the content of exports is, each part bound to its row, and found by
// keyed hashes. Ids, and which job, step and time belong to what, are plain: they are searched, compared or counted.

// What is sealed of people. Each opens as nothing else.
const (
	candidateData    = "candidate"
	applicationData  = "job application"
	answersData      = "answers of a job application"
	complianceAnswer = "answer to a question of a compliance group"
	subscriptionData = "event subscription" // which is of nobody, and has a secret
	documentsNames   = "names of a document of a job application"
	submissionData   = "submission"
	upstreamToken    = "token of a service" // of nobody either
)

// personRow names a row by its tenant and ids, none of which has a U+0000.
func personRow(tenant string, ids ...string) string {
	return tenant + "\x00" + strings.Join(ids, "\x00")
}

// sealPerson seals a part of what is held of a person. It returns nil where there is no search key: what is sealed must
// be found.
func (k *dataKeys) sealPerson(part, row string, kept []byte) ([]byte, error) {
	if k.search.Load() == nil {
		return nil, nil
	}
	return k.seal(part, row, kept)
}

// wrapPerson is wrapBody of a part of what is held of a person, sealed where there is a search key.
func (k *dataKeys) wrapPerson(part, row string, body []byte) ([]byte, error) {
	kept := wrapBody(body)
	sealed, err := k.sealPerson(part, row, kept)
	if err != nil || sealed == nil {
		return kept, err
	}
	return sealed, nil
}

// unwrapPerson opens what wrapPerson made.
func unwrapPerson(open opening, part, row string, kept []byte) ([]byte, error) {
	kept, err := open(part, row, kept)
	if err != nil {
		return nil, err
	}
	return unwrapBody(kept)
}

// SealsPeople reports whether what is held of people is sealed.
func (db *DB) SealsPeople() bool { return db.dataKeys.search.Load() != nil }

// searchKeyID is the id of the data key that hashes. It stays for good: what was hashed with another one is not found.
// It is the oldest one, and seals nothing.
const searchKeyID = "searches"

// readSearchKey reads the search key; without one, or where it can't be opened, nothing changes.
func (db *DB) readSearchKey(ctx context.Context) error {
	key, err := db.dataKey(db.keysOutside(ctx), searchKeyID)
	switch {
	case errors.Is(err, ErrUnreadable), errors.Is(err, ErrSealed):
		return nil
	case err != nil:
		return err
	}
	db.dataKeys.search.Store(key)
	return nil
}

// makeSearchKey makes the search key, or reads that of another node. Without a key that all configurations have nothing
// changes.
func (db *DB) makeSearchKey(ctx context.Context) error {
	oldest := time.UnixMicro(0)
	_, kept, err := newDataKey(searchKeyID, db.vaults, oldest)
	if err != nil || !kept.sealed() {
		return err
	}
	if err := db.insertDataKey(ctx, kept, oldest); err != nil {
		return err
	}
	return db.readSearchKey(ctx)
}

// searchWord is a value of a column that rows are found by. It is stored as it is, or as its keyed hash.
type searchWord struct{ kind, word string }

// hashed returns the form in which a word is stored: the keyed hash of it, its kind and the tenant; without a search key,
// and of an empty word, the word.
func (k *dataKeys) hashed(tenant string, w searchWord) (string, error) {
	key := k.search.Load()
	if key == nil || w.word == "" {
		return w.word, nil
	}
	sum, err := key.vault.Hash("search", tenant, w.kind, w.word)
	return base64.RawURLEncoding.EncodeToString(sum[:]), err
}

// KeyedHash returns a hash for a purpose that is the same on all nodes, and that only those can make who have the search key
// or, where there is none, the database's id.
func (db *DB) KeyedHash(ctx context.Context, purpose string) (func(words string) ([sha256.Size]byte, error), error) {
	if key := db.dataKeys.search.Load(); key != nil {
		return func(words string) ([sha256.Size]byte, error) { return key.vault.Hash(purpose, words) }, nil
	}
	id, err := db.ID(ctx)
	return func(words string) ([sha256.Size]byte, error) { return digest.Of(purpose, id, words), nil }, err
}

// forms returns the forms in which words may be stored: hashed, or plain by those who had no search key.
func (k *dataKeys) forms(tenant string, words ...searchWord) (all []string, err error) {
	for _, w := range words {
		sum, err := k.hashed(tenant, w)
		if err != nil {
			return nil, err
		}
		all = append(all, sum)
		if sum != w.word {
			all = append(all, w.word)
		}
	}
	return all, nil
}
