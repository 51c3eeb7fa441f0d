package access

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertSession inserts a session and deletes the one before, if any. ErrNotFound: since the user was read they were
// disabled, got another password, have to set up a second factor, or lost the account at another provider.
func (tx *Tx) InsertSession(before identity.Hash, s *identity.Session, u *identity.User) error {
	at := s.SignedInAt
	if s.Upstream != nil {
		at = s.Upstream.AskedAt // they may have signed in there days ago
	}
	// It locks their row, as lockUser does.
	if err := tx.sql.RunOr(ErrNotFound, `UPDATE users SET last_sign_in = $1 WHERE id = $2`, rows.Micros(at), u.ID); err != nil {
		return err
	}
	if a := s.Upstream; a != nil {
		var theirs bool
		if _, err := tx.sql.Scan([]any{&theirs}, `SELECT COUNT(*) > 0 FROM upstream_accounts WHERE issuer = $1
			AND subject = $2 AND user_id = $3`, a.Issuer, a.Subject, u.ID); err != nil {
			return err
		}
		if !theirs {
			return ErrNotFound
		}
	}
	if err := tx.replaceSession(before, s); err != nil {
		return err
	}
	if err := rows.DeleteExpired(tx.sql, "sessions", "hash", "till", rows.Sweep, s.SignedInAt); err != nil {
		return err
	}
	if err := tx.sql.RunOr(ErrNotFound, `INSERT INTO sessions (hash, issuer, user_id, signed_in_at, till, grants_till, sid, address, browser)
		SELECT $1, $2, id, $3, $4, $8, $9, $10, $11 FROM users
		WHERE id = $5 AND disabled_at IS NULL AND password = $6 AND totp_required = $7 AND (NOT totp_required
		OR totp IS NOT NULL)`,
		s.Hash[:], s.Issuer, rows.Micros(s.SignedInAt), rows.Micros(s.Till), u.ID, u.Password, u.TOTPRequired,
		rows.Micros(s.GrantsTill), s.SID, s.Address, s.Browser); err != nil || s.Upstream == nil {
		return err
	}
	return tx.insertUpstreamSession(s.Upstream)
}

// replaceSession deletes the session before, if any. One of the same user goes on in the new one, for applications;
// otherwise they are told that it has ended.
func (tx *Tx) replaceSession(before identity.Hash, s *identity.Session) error {
	same, err := tx.sql.Scan([]any{&s.SID}, `DELETE FROM sessions WHERE hash = $1 AND issuer = $2 AND user_id = $3
		AND sid <> '' RETURNING sid`, before[:], s.Issuer, s.UserID)
	if err != nil || same {
		return err
	}
	s.SID = rand.Text()
	return tx.DeleteSession(before, s.SignedInAt)
}

// DeleteSession ends a session, of which applications are told; there may be none.
func (tx *Tx) DeleteSession(hash identity.Hash, now time.Time) error {
	var sid string
	found, err := tx.sql.Scan([]any{&sid}, `DELETE FROM sessions WHERE hash = $1 RETURNING sid`, hash[:])
	if err != nil || !found {
		return err
	}
	return tx.tellApplications(`g.sid = $1`, sid, now)
}

// Session reads a session that has not ended, of a user who is not disabled; ErrNotFound when there is none.
func (db *DB) Session(ctx context.Context, issuer string, hash identity.Hash,
	now time.Time) (*identity.Session, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (*identity.Session, error) {
		var s identity.Session
		s.Hash = hash
		err := r.Scan(&s.Issuer, &s.UserID, rows.Time(&s.SignedInAt), rows.Time(&s.Till))
		return &s, err
	}, `SELECT s.issuer, s.user_id, s.signed_in_at, s.till FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.hash = $1 AND s.issuer = $2 AND s.till > $3 AND u.disabled_at IS NULL`, hash[:], issuer, rows.Micros(now))
}

// UpsertConsent stores that a user lets a client have a scope.
func (tx *Tx) UpsertConsent(user, client, scope string, now time.Time) error {
	return tx.sql.Run(`INSERT INTO consents (user_id, client, scope, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, client) DO UPDATE SET scope = excluded.scope, at = excluded.at`,
		user, client, scope, rows.Micros(now))
}

// ConsentedScope reads the scope that a user lets a client have; ErrNotFound when they were never asked.
func (db *DB) ConsentedScope(ctx context.Context, user, client string) (scope string, err error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[string],
		`SELECT scope FROM consents WHERE user_id = $1 AND client = $2`, user, client)
}
