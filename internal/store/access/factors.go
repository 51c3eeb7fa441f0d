package access

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// RequireTOTP sets whether a user needs a second factor. It deletes one that is set up, so that the user sets up
// another at the next sign-in, and ends their sessions and grants. It reports false when there is no such user.
func (tx *Tx) RequireTOTP(id string, required bool, now time.Time) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE users SET totp_required = $1, totp_own = FALSE, totp = NULL, totp_step = 0 WHERE id = $2`,
		required, id)
	if err != nil || !ok {
		return false, err
	}
	return true, tx.endSessions(id, now)
}

// ResetTOTP deletes a user's second factor: they set up another at the next sign-in, if they need one. It reports false
// when there is none.
func (tx *Tx) ResetTOTP(id string) (bool, error) {
	return tx.sql.Changed(`UPDATE users SET totp = NULL, totp_step = 0 WHERE id = $1 AND totp IS NOT NULL`, id)
}

// ReplaceTOTP stores the sealed secret of a second factor that a user set up by themselves, and the step of the one-time
// password that proved it. It reports false when they have another password since they were read, or are disabled.
func (tx *Tx) ReplaceTOTP(u *identity.User, sealed []byte, step int64) (bool, error) {
	return tx.sql.Changed(`UPDATE users SET totp = $1, totp_step = $2, totp_own = totp_own OR NOT totp_required,
		totp_required = TRUE WHERE id = $3 AND password = $4 AND disabled_at IS NULL`, sealed, step, u.ID, u.Password)
}

// RemoveOwnTOTP removes a second factor that a user chose to have by themselves. It reports false when it is required,
// and when they have another password since they were read, or are disabled.
func (tx *Tx) RemoveOwnTOTP(u *identity.User) (bool, error) {
	return tx.sql.Changed(`UPDATE users SET totp = NULL, totp_step = 0, totp_own = FALSE, totp_required = FALSE
		WHERE id = $1 AND password = $2 AND totp_own AND disabled_at IS NULL`, u.ID, u.Password)
}

// InsertTOTP stores the sealed secret of a user's second factor, and the step of the one-time password that proved it.
// It reports false when they need none, or have one already.
func (tx *Tx) InsertTOTP(id string, sealed []byte, step int64) (bool, error) {
	return tx.sql.Changed(`UPDATE users SET totp = $1, totp_step = $2 WHERE id = $3 AND totp_required AND totp IS NULL`,
		sealed, step, id)
}

// ConsumeTOTP consumes a user's one-time password of a step, and replaces the sealed secret that was read with the one
// re-encrypted since. It reports false for a step that is not after all used ones, and for a secret that was replaced:
// it succeeds once, on whatever nodes it is tried.
func (tx *Tx) ConsumeTOTP(id string, before, sealed []byte, step int64) (bool, error) {
	return tx.sql.Changed(`UPDATE users SET totp = $1, totp_step = $2 WHERE id = $3 AND totp = $4 AND totp_step < $2`,
		sealed, step, id, before)
}

// UserByUpstreamAccount reads the user of an account at another provider, also a disabled one; ErrNotFound when there
// is none.
func (db *DB) UserByUpstreamAccount(ctx context.Context, issuer, subject string) (*identity.User, error) {
	return users.Get(ctx, db.reads, `id = (SELECT user_id FROM upstream_accounts WHERE issuer = $1 AND subject = $2)`,
		issuer, subject)
}

// InsertUpstreamAccount links an account at another provider to a user. ErrTaken: it is linked already, or the user has
// another one there.
func (tx *Tx) InsertUpstreamAccount(issuer, subject, user string, now time.Time) error {
	// Two nodes can't join two accounts of a provider to them.
	if err := tx.lockUser(user); err != nil {
		return err
	}
	var n int
	if _, err := tx.sql.Scan([]any{&n}, `SELECT COUNT(*) FROM upstream_accounts WHERE user_id = $1 AND issuer = $2`,
		user, issuer); err != nil {
		return err
	}
	if n > 0 {
		return ErrTaken
	}
	return tx.sql.RunOr(ErrTaken, `INSERT INTO upstream_accounts (issuer, subject, user_id, created_at)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, issuer, subject, user, rows.Micros(now))
}

// ListUpstreamAccounts lists a user's accounts at other providers, by issuer.
func (db *DB) ListUpstreamAccounts(ctx context.Context, user string) ([]*identity.UpstreamAccount, error) {
	return rows.Query(ctx, db.reads, func(r row) (*identity.UpstreamAccount, error) {
		var a identity.UpstreamAccount
		err := r.Scan(&a.Issuer, &a.Subject, rows.Time(&a.JoinedAt))
		return &a, err
	}, `SELECT issuer, subject, created_at FROM upstream_accounts WHERE user_id = $1 ORDER BY issuer`, user)
}

// DeleteUpstreamAccounts unlinks all accounts at other providers from a user, and ends their sessions and grants. It
// reports false when there is no such user.
func (tx *Tx) DeleteUpstreamAccounts(user string, now time.Time) (bool, error) {
	if err := tx.lockUser(user); err != nil {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return false, err
	}
	if err := tx.sql.RunAll([]string{`DELETE FROM upstream_accounts WHERE user_id = $1`,
		`UPDATE users SET upstream_groups = '' WHERE id = $1`}, user); err != nil {
		return false, err
	}
	return true, tx.endSessions(user, now)
}
