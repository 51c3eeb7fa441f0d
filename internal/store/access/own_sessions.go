package access

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// mostListed is how many sessions of a user are listed.
const mostListed = 100

// ListSessions lists a user's sessions at an issuer (empty: at all) that have not ended, the latest sign-in first.
func (db *DB) ListSessions(ctx context.Context, issuer, user string, now time.Time) ([]*identity.Session, error) {
	return rows.Query(ctx, db.reads, func(r row) (*identity.Session, error) {
		s := &identity.Session{UserID: user}
		return s, r.Scan(hashed{&s.Hash}, &s.Issuer, &s.SID, rows.Time(&s.SignedInAt), rows.Time(&s.UsedAt), rows.Time(&s.Till),
			&s.Address, &s.Browser)
	}, `SELECT hash, issuer, sid, signed_in_at, used_at, till, address, browser FROM sessions WHERE user_id = $1
		AND ($2 = '' OR issuer = $2) AND till > $3 ORDER BY signed_in_at DESC, sid LIMIT $4`, user, issuer, rows.Micros(now), mostListed)
}

// ListClientsOfSession lists the names of the applications that got something in a session, in order.
func (db *DB) ListClientsOfSession(ctx context.Context, sid string) ([]string, error) {
	return rows.Query(ctx, db.reads, rows.Value[string], `SELECT DISTINCT c.name FROM grants g JOIN oauth_clients c ON c.id = g.client
		WHERE g.sid = $1 AND g.sid <> '' AND g.consumed_at IS NOT NULL AND g.revoked_at IS NULL ORDER BY c.name`, sid)
}

// EndSessionOf ends a session of a user by what applications know it by, and what was granted in it. It reports false when
// there is no such session.
func (tx *Tx) EndSessionOf(user, issuer, sid string, now time.Time) (bool, error) {
	var hash identity.Hash
	found, err := tx.sql.Scan([]any{hashed{&hash}}, `SELECT hash FROM sessions WHERE user_id = $1 AND issuer = $2 AND sid = $3
		AND sid <> ''`, user, issuer, sid)
	if err != nil || !found {
		return false, err
	}
	return true, tx.endWithGrants(hash, now)
}

// EndOtherSessions ends all sessions of a user but one, at an issuer (empty: at all), and what was granted in them, and
// returns how many.
func (tx *Tx) EndOtherSessions(user, issuer string, but identity.Hash, now time.Time) (int, error) {
	others, err := rows.QueryTx(tx.sql, func(r row) (h identity.Hash, err error) {
		return h, r.Scan(hashed{&h})
	}, `SELECT hash FROM sessions WHERE user_id = $1 AND ($2 = '' OR issuer = $2) AND hash <> $3`, user, issuer, but[:])
	for _, hash := range others {
		if err == nil {
			err = tx.endWithGrants(hash, now)
		}
	}
	return len(others), err
}

// ChangePassword sets the password that a user chose, and ends all their sessions but one (none, if it is zero). It reports false when the password
// before is not theirs any more, or they are disabled.
func (tx *Tx) ChangePassword(user, before, after string, session identity.Hash, now time.Time) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE users SET password = $1, must_change = FALSE WHERE id = $2 AND password = $3 AND disabled_at IS NULL`,
		after, user, before)
	if err != nil || !ok {
		return false, err
	}
	_, err = tx.EndOtherSessions(user, "", session, now)
	return true, err
}

// endWithGrants ends a session, and what was granted in it.
func (tx *Tx) endWithGrants(session identity.Hash, now time.Time) error {
	if err := tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE revoked_at IS NULL AND (session = $2 OR sid <> ''
		AND sid = (SELECT sid FROM sessions WHERE hash = $2))`, rows.Micros(now), session[:]); err != nil {
		return err
	}
	return tx.EndUpstreamSession(session, now)
}
