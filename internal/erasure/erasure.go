// Package erasure keeps the list of erasures: a file outside the database that says what was erased and when, in keyed
// hashes. After a restored backup the list is erased again. The list's key signs the receipts of erasures as well.
package erasure

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// Kind says what an entry of the list is about.
type Kind string

// Kinds of entries.
const (
	Person    Kind = "person"    // a candidate with job applications and exports
	Candidate Kind = "candidate" // a candidate with job applications
	Export    Kind = "export"    // one export

	Submission Kind = "submission"
)

// Entry says that something that was stored by a time is erased.
type Entry struct {
	Number int64     `json:"number"` // from 1
	At     time.Time `json:"at"`
	Kind   Kind      `json:"kind"`
	Of     string    `json:"of"`     // a keyed hash of tenant and id
	Former string    `json:"former"` // SHA-256 of the line before
}

// keys hash and sign the entries of a list.
type keys struct {
	hash    []byte
	signing ed25519.PrivateKey
}

// of hashes the tenant and the id of what an entry is about: a candidate's id, an export's key, or a receipt.
func (k *keys) of(kind Kind, tenant, id string) string {
	what := "candidate"
	if kind == Export || kind == Submission {
		what = string(kind)
	}
	mac := hmac.New(sha256.New, k.hash)
	for _, word := range []string{what, tenant, id} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(word))))
		mac.Write([]byte(word))
	}
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

// Listed finds what some entries of a list are about.
type Listed struct {
	keys    *keys
	entries map[listed]time.Time // the latest time
}

type listed struct {
	kind Kind
	of   string
}

// Export returns the time up to which an entry covers an export, by its key or with its candidate; zero: none does.
func (l *Listed) Export(tenant, key, candidate string) time.Time {
	at := l.entries[listed{Export, l.keys.of(Export, tenant, key)}]
	if candidate == "" {
		return at
	}
	return latest(at, l.entries[listed{Person, l.keys.of(Person, tenant, candidate)}])
}

// Candidate returns the time up to which an entry covers what is stored of a candidate; zero: none does.
func (l *Listed) Candidate(tenant, id string) time.Time {
	of := l.keys.of(Person, tenant, id)
	return latest(l.entries[listed{Candidate, of}], l.entries[listed{Person, of}])
}

// Submission returns the time up to which an entry covers a submission; zero: none does.
func (l *Listed) Submission(tenant, id string) time.Time {
	return l.entries[listed{Submission, l.keys.of(Submission, tenant, id)}]
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
