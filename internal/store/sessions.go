package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// BeginSession keeps who is signed in, by the hash of what their cookie has, in the place of the session they had before; that may
// be none.
func (tx *Tx) BeginSession(hash, before identity.Hash, s *identity.Session) error {
	if err := tx.EndSession(before); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE till <= $1 ORDER BY till LIMIT $2)`, micros(s.SignedInAt), sweep); err != nil {
		return err
	}
	_, err := tx.exec(`INSERT INTO sessions (hash, issuer, user_id, signed_in_at, till) VALUES ($1, $2, $3, $4, $5)`,
		hash[:], s.Issuer, s.UserID, micros(s.SignedInAt), micros(s.Till))
	return err
}

// EndSession ends a session; there may be none.
func (tx *Tx) EndSession(hash identity.Hash) error {
	_, err := tx.exec(`DELETE FROM sessions WHERE hash = $1`, hash[:])
	return err
}

// Session reads a session that has not ended, of a user who is not disabled; ErrNotFound when there is none.
func (db *DB) Session(ctx context.Context, issuer string, hash identity.Hash, now time.Time) (*identity.Session, error) {
	return queryOne(ctx, db, func(r row) (*identity.Session, error) {
		var s identity.Session
		err := r.Scan(&s.Issuer, &s.UserID, moment{&s.SignedInAt}, moment{&s.Till})
		return &s, err
	}, `SELECT s.issuer, s.user_id, s.signed_in_at, s.till FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.hash = $1 AND s.issuer = $2 AND s.till > $3 AND u.disabled_at IS NULL`, hash[:], issuer, micros(now))
}

// Consent keeps that a user lets a client have a scope.
func (tx *Tx) Consent(user, client, scope string, now time.Time) error {
	_, err := tx.exec(`INSERT INTO consents (user_id, client, scope, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, client) DO UPDATE SET scope = excluded.scope, at = excluded.at`, user, client, scope, micros(now))
	return err
}

// Consented reads the scope that a user lets a client have; ErrNotFound when they were never asked.
func (db *DB) Consented(ctx context.Context, user, client string) (scope string, err error) {
	return queryOne(ctx, db, func(r row) (s string, err error) { err = r.Scan(&s); return s, err },
		`SELECT scope FROM consents WHERE user_id = $1 AND client = $2`, user, client)
}
