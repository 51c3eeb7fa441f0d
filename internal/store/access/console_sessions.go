package access

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// maxConsoleSessions is how many sessions a person has at a console, in as many browsers; a further one ends the
// oldest.
const maxConsoleSessions = 10

// SignInOfCode reads the session at our own sign-in in which a code was issued, and the verified e-mail address that
// its user has now; empty: none. ErrNotFound: no such code was issued here.
func (db *DB) SignInOfCode(ctx context.Context, issuer string, code identity.Hash) (session identity.Hash, email string,
	err error) {
	s, err := rows.QueryOne(ctx, db.reads, func(r row) (s identity.ConsoleSession, err error) {
		var hash []byte
		err = r.Scan(&hash, &s.Email)
		copy(s.SignIn[:], hash)
		return s, err
	}, `SELECT g.session, CASE WHEN u.email_verified THEN u.email ELSE '' END FROM grants g
		JOIN users u ON u.id = g.user_id WHERE g.code = $1 AND g.issuer = $2 AND g.session IS NOT NULL`, code[:], issuer)
	return s.SignIn, s.Email, err
}

// InsertConsoleSession inserts a session and deletes the one before, if any, and the oldest of a person who has more
// than ten.
func (tx *Tx) InsertConsoleSession(before identity.Hash, s *identity.ConsoleSession) error {
	if err := tx.DeleteConsoleSession(before); err != nil {
		return err
	}
	if _, err := tx.DeleteExpiredConsoleSessions(s.CreatedAt, rows.Sweep); err != nil {
		return err
	}
	var signIn any
	if s.SignIn != (identity.Hash{}) {
		signIn = s.SignIn[:]
	}
	if err := tx.sql.Run(`INSERT INTO console_sessions (hash, console, issuer, subject, sid, signin, person, created_at,
		till, refresh, refresh_at, confirmed_till, used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, s.Hash[:], s.Console, s.Issuer, s.Subject, s.SID, signIn, s.Person,
		rows.Micros(s.CreatedAt), rows.Micros(s.Till), s.Refresh, rows.Micros(s.RefreshAt), rows.Micros(s.ConfirmedTill),
		rows.Micros(s.UsedAt)); err != nil {
		return err
	}
	return tx.sql.Run(`DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions WHERE issuer = $1
		AND subject = $2 AND console = $3 AND hash <> $4 ORDER BY created_at DESC LIMIT $5 OFFSET $6)`,
		s.Issuer, s.Subject, s.Console, s.Hash[:], rows.Sweep, maxConsoleSessions-1)
}

// ConsoleSession reads a session of a console that has not ended; ErrNotFound when there is none. One of our own
// sign-in has ended with the session there, and while its user is disabled.
func (db *DB) ConsoleSession(ctx context.Context, console string, hash identity.Hash,
	now time.Time) (*identity.ConsoleSession, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (*identity.ConsoleSession, error) {
		s := &identity.ConsoleSession{Hash: hash, Console: console}
		var signIn []byte
		err := r.Scan(&s.Issuer, &s.Subject, &s.SID, &signIn, &s.Person, rows.Time(&s.CreatedAt), rows.Time(&s.Till),
			&s.Email, &s.Refresh, rows.Time(&s.RefreshAt), rows.Time(&s.ConfirmedTill), rows.Time(&s.UsedAt))
		copy(s.SignIn[:], signIn)
		return s, err
	}, `SELECT c.issuer, c.subject, c.sid, c.signin, c.person, c.created_at, c.till,
		CASE WHEN u.email_verified THEN u.email ELSE '' END, c.refresh, c.refresh_at, c.confirmed_till, c.used_at
		FROM console_sessions c LEFT JOIN sessions s ON s.hash = c.signin LEFT JOIN users u ON u.id = s.user_id
		WHERE c.hash = $1 AND c.console = $2 AND c.till > $3
		AND (c.signin IS NULL OR s.till > $3 AND u.disabled_at IS NULL)`, hash[:], console, rows.Micros(now))
}

// LockConsoleSession keeps all others from refreshing a session until a time. It reports false when another one does, or
// has done so, and when there is no such session any more.
func (tx *Tx) LockConsoleSession(hash identity.Hash, now, till time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE console_sessions SET locked_till = $1 WHERE hash = $2 AND refresh_at <= $3 AND locked_till <= $3`,
		rows.Micros(till), hash[:], rows.Micros(now))
}

// UpdateConsoleSession stores what refreshing a session changed; whoever locked it calls it.
func (tx *Tx) UpdateConsoleSession(s *identity.ConsoleSession) error {
	return tx.sql.Run(`UPDATE console_sessions SET person = $1, refresh = $2, refresh_at = $3, confirmed_till = $4, locked_till = 0
		WHERE hash = $5`, s.Person, s.Refresh, rows.Micros(s.RefreshAt), rows.Micros(s.ConfirmedTill), s.Hash[:])
}

// DeleteConsoleSession ends a session; there may be none.
func (tx *Tx) DeleteConsoleSession(hash identity.Hash) error {
	return tx.sql.Run(`DELETE FROM console_sessions WHERE hash = $1`, hash[:])
}

// Logout has the claims of a provider's logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4), which name
// the session that ended there. Subject, SID or both are set.
type Logout struct {
	Console, Issuer, Subject, SID string
	Token                         identity.Hash // of issuer and jti
	Till                          time.Time     // until when a repeat of the token must be recognized
}

// EndConsoleSessions ends the sessions at a console that a logout token names, and returns how many there were.
// ErrTaken: the token was used before. A session whose own sid the provider did not tell ends with any of its
// subject's.
func (tx *Tx) EndConsoleSessions(l Logout) (ended int64, err error) {
	if err := tx.consumeLogoutToken(l); err != nil {
		return 0, err
	}
	if l.Subject == "" {
		return tx.sql.Exec(`DELETE FROM console_sessions WHERE issuer = $1 AND sid = $2 AND console = $3`,
			l.Issuer, l.SID, l.Console)
	}
	return tx.sql.Exec(`DELETE FROM console_sessions WHERE issuer = $1 AND subject = $2 AND console = $3
		AND ($4 = '' OR sid = '' OR sid = $4)`, l.Issuer, l.Subject, l.Console, l.SID)
}

// consumeLogoutToken remembers a logout token. ErrTaken: it was used before.
func (tx *Tx) consumeLogoutToken(l Logout) error {
	return tx.sql.RunOr(ErrTaken, `INSERT INTO logout_tokens (hash, till) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		l.Token[:], rows.Micros(l.Till))
}

// DeleteExpiredConsoleSessions deletes up to limit sessions of the console, and as many used logout tokens, that ended
// before a time, the oldest first, and returns how many.
func (tx *Tx) DeleteExpiredConsoleSessions(now time.Time, limit int) (deleted int64, err error) {
	for _, table := range []string{"console_sessions", "logout_tokens"} {
		n, err := tx.sql.Exec(`DELETE FROM `+table+` WHERE hash IN (SELECT hash FROM `+table+` WHERE till <= $1
			ORDER BY till LIMIT $2)`, rows.Micros(now), limit)
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}
