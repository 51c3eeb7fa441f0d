package access

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

var upstreamSessions = rows.Table[identity.UpstreamSession]{
	Name: "upstream_sessions",
	Columns: `hash, site, issuer, subject, sid, user_id, refresh, asked_at,
		paused_till, till`,
	Fields: func(s *identity.UpstreamSession) []any {
		return []any{hashed{&s.Hash}, &s.Site, &s.Issuer, &s.Subject, &s.SID, &s.UserID, &s.Refresh,
			rows.Time(&s.AskedAt), rows.Time(&s.PausedTill), rows.Time(&s.Till)}
	},
}

// hashed scans a hash.
type hashed struct{ into *identity.Hash }

// Scan implements sql.Scanner.
func (h hashed) Scan(src any) error {
	raw, _ := src.([]byte)
	copy(h.into[:], raw)
	return nil
}

// UpstreamSession reads the session at another provider in which a session here began; ErrNotFound when there is none.
func (db *DB) UpstreamSession(ctx context.Context, session identity.Hash) (*identity.UpstreamSession, error) {
	return upstreamSessions.Get(ctx, db.reads, `hash = $1`, session[:])
}

// UpstreamSessionOfToken reads the session at another provider in which a token's grant began; ErrNotFound when there is
// none.
func (db *DB) UpstreamSessionOfToken(ctx context.Context, token identity.Hash) (*identity.UpstreamSession, error) {
	return upstreamSessions.Get(ctx, db.reads, `hash = (SELECT g.session FROM tokens t JOIN grants g ON g.code = t.code
		WHERE t.hash = $1)`, token[:])
}

// insertUpstreamSession inserts the session at another provider in which a session here began.
func (tx *Tx) insertUpstreamSession(s *identity.UpstreamSession) error {
	if err := rows.DeleteExpired(tx.sql, "upstream_sessions", "hash", "till", rows.Sweep, s.AskedAt); err != nil {
		return err
	}
	return tx.sql.Run(`INSERT INTO upstream_sessions (hash, site, issuer, subject, sid, user_id, refresh, asked_at,
		locked_till, paused_till, till) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9)`, s.Hash[:], s.Site, s.Issuer, s.Subject, s.SID,
		s.UserID, s.Refresh, rows.Micros(s.AskedAt), rows.Micros(s.Till))
}

// LockUpstreamSession keeps all others from asking the provider about a session until a time. It reports false when
// another one asks, or has asked since the session was read, and when there is no such session any more.
func (tx *Tx) LockUpstreamSession(s *identity.UpstreamSession, now, till time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE upstream_sessions SET locked_till = $1 WHERE hash = $2 AND asked_at = $3
		AND locked_till <= $4 AND paused_till <= $4`, rows.Micros(till), s.Hash[:], rows.Micros(s.AskedAt), rows.Micros(now))
}

// ConfirmUpstreamSession stores that the provider says that the user is still there, and the refresh token to ask with
// next; whoever locked the session calls it.
func (tx *Tx) ConfirmUpstreamSession(session identity.Hash, refresh []byte, now time.Time) error {
	return tx.sql.Run(`UPDATE upstream_sessions SET refresh = $1, asked_at = $2, locked_till = 0 WHERE hash = $3`,
		refresh, rows.Micros(now), session[:])
}

// PauseUpstreamSession keeps all from asking about a session until a time, since the provider did not answer; whoever
// locked the session calls it.
func (tx *Tx) PauseUpstreamSession(session identity.Hash, till time.Time) error {
	return tx.sql.Run(`UPDATE upstream_sessions SET locked_till = 0, paused_till = $1 WHERE hash = $2`,
		rows.Micros(till), session[:])
}

// EndUpstreamSession ends a session that began at another provider, revokes what was granted in it, and
// tells applications.
func (tx *Tx) EndUpstreamSession(session identity.Hash, now time.Time) error {
	if err := tx.DeleteSession(session, now); err != nil {
		return err
	}
	if err := tx.tellApplications(`g.session = $1`, session[:], now); err != nil {
		return err
	}
	if err := tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE session = $2 AND revoked_at IS NULL`,
		rows.Micros(now), session[:]); err != nil {
		return err
	}
	return tx.sql.Run(`DELETE FROM upstream_sessions WHERE hash = $1`, session[:])
}

// EndUpstreamSessions ends the sessions at a site that a logout token names, revokes what was granted in them, and
// returns their users, one for each session. ErrTaken: the token was used before. A session whose own sid the provider
// did not tell ends with any of its subject's.
func (tx *Tx) EndUpstreamSessions(l Logout, now time.Time) (users []string, err error) {
	if err := tx.consumeLogoutToken(l); err != nil {
		return nil, err
	}
	where, arg := `subject = $3 AND ($4 = '' OR sid = '' OR sid = $4)`, l.Subject
	if l.Subject == "" {
		where, arg = `sid = $3 AND sid = $4`, l.SID
	}
	ended, err := rows.QueryTx(tx.sql, upstreamSessions.Scan, upstreamSessions.Select(`issuer = $1 AND site = $2 AND `+where),
		l.Issuer, l.Console, arg, l.SID)
	for _, s := range ended {
		if err == nil {
			err = tx.EndUpstreamSession(s.Hash, now)
		}
		users = append(users, s.UserID)
	}
	return users, err
}
