package store

import (
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// BeginVisit keeps the sealed authorization request of somebody who leaves to sign in at another provider, by the hash of the state
// that they leave with.
func (tx *Tx) BeginVisit(hash identity.Hash, request []byte, now, till time.Time) error {
	if _, err := tx.exec(`DELETE FROM upstream_visits WHERE hash IN (SELECT hash FROM upstream_visits WHERE till <= $1 ORDER BY till LIMIT $2)`, micros(now), sweep); err != nil {
		return err
	}
	_, err := tx.exec(`INSERT INTO upstream_visits (hash, request, till) VALUES ($1, $2, $3)`, hash[:], request, micros(till))
	return err
}

// EndVisit gives the sealed authorization request of somebody who is back, and removes it: on whatever nodes it is tried, it
// succeeds once. It gives nil where there is none, or where it is over.
func (tx *Tx) EndVisit(hash identity.Hash, now time.Time) (request []byte, err error) {
	_, err = tx.one([]any{&request}, `DELETE FROM upstream_visits WHERE hash = $1 AND till > $2 RETURNING request`, hash[:], micros(now))
	return request, err
}
