package access

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertUser adds a user; ErrTaken when the e-mail address is another's.
func (tx *Tx) InsertUser(u *identity.User) error {
	return tx.sql.RunOr(ErrTaken, `
		INSERT INTO users (id, email, folded, email_verified, name, given_name, family_name, password, created_at,
		in_groups)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		u.ID, u.Email, identity.Fold(u.Email), u.EmailVerified, u.Name, u.GivenName, u.FamilyName, u.Password,
		rows.Micros(u.CreatedAt), lines{&u.Groups})
}

// UpdateUser changes a user's address, names and groups. ErrNotFound when there is no such user, ErrTaken when the e-mail
// address is another's.
func (tx *Tx) UpdateUser(u *identity.User) error {
	if err := tx.lockUser(u.ID); err != nil {
		return err
	}
	return tx.sql.RunOr(ErrTaken, `UPDATE users SET email = $1, folded = $2, email_verified = $3, name = $4,
		given_name = $5, family_name = $6, in_groups = $8 WHERE id = $7 AND NOT EXISTS (SELECT 1 FROM users WHERE folded = $2 AND id <> $7)`,
		u.Email, identity.Fold(u.Email), u.EmailVerified, u.Name, u.GivenName, u.FamilyName, u.ID, lines{&u.Groups})
}

// UpdateUserFromUpstream changes what another provider says of a user: names, and groups there. ErrNotFound when there is
// no such user.
func (tx *Tx) UpdateUserFromUpstream(u *identity.User) error {
	return tx.sql.RunOr(ErrNotFound, `UPDATE users SET name = $1, given_name = $2, family_name = $3, upstream_groups = $5
		WHERE id = $4`, u.Name, u.GivenName, u.FamilyName, u.ID, lines{&u.UpstreamGroups})
}

// EnableUser lets a user who is disabled sign in again, with the password that they had. It reports false when there is
// no such user, or they are not disabled.
func (tx *Tx) EnableUser(id string) (bool, error) {
	return tx.sql.Changed(`UPDATE users SET disabled_at = NULL WHERE id = $1 AND disabled_at IS NOT NULL`, id)
}

// DisableUser keeps a user from signing in, and ends their sessions and grants. It reports false when there is no such
// user, or they are disabled already.
func (tx *Tx) DisableUser(id string, now time.Time) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE users SET disabled_at = $1 WHERE id = $2 AND disabled_at IS NULL`,
		rows.Micros(now), id)
	if err != nil || !ok {
		return false, err
	}
	return true, tx.endSessions(id, now)
}

// ResetUser sets another password, enables a disabled user, and ends their sessions and grants. It reports false when
// there is no such user.
func (tx *Tx) ResetUser(id, password string, now time.Time) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE users SET password = $1, disabled_at = NULL, must_change = FALSE WHERE id = $2`, password, id)
	if err != nil || !ok {
		return false, err
	}
	return true, tx.endSessions(id, now)
}

// RequirePasswordChange has a user choose another password at the next sign-in with the one that they have.
func (tx *Tx) RequirePasswordChange(id string) error {
	return tx.sql.Run(`UPDATE users SET must_change = TRUE WHERE id = $1`, id)
}

// lockUser locks a user's row until the transaction ends, by writing it. Whatever ends their sessions writes the row
// first, so it either finds what the transaction began, or came before it and is seen here. ErrNotFound when there is
// no such user.
func (tx *Tx) lockUser(id string) error {
	return tx.sql.RunOr(ErrNotFound, `UPDATE users SET name = name WHERE id = $1`, id)
}

// EndSessions ends a user's sessions and grants; they may sign in again. It reports false when there is no such user.
func (tx *Tx) EndSessions(id string, now time.Time) (bool, error) {
	if err := tx.lockUser(id); err != nil {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return false, err
	}
	return true, tx.endSessions(id, now)
}

// endSessions deletes the sessions of a user, revokes their grants, and tells applications.
func (tx *Tx) endSessions(id string, now time.Time) error {
	if err := tx.tellApplications(`g.user_id = $1`, id, now); err != nil {
		return err
	}
	if err := tx.sql.Run(`DELETE FROM sessions WHERE user_id = $1`, id); err != nil {
		return err
	}
	if err := tx.sql.Run(`DELETE FROM upstream_sessions WHERE user_id = $1`, id); err != nil {
		return err
	}
	return tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE user_id = $2 AND revoked_at IS NULL`, rows.Micros(now), id)
}

var users = rows.Table[identity.User]{
	Name: "users",
	Columns: `id, email, email_verified, name, given_name, family_name, password, created_at, disabled_at,
		totp_required, totp, totp_step, in_groups, upstream_groups, must_change, last_sign_in, totp_own`,
	Fields: func(u *identity.User) []any {
		return []any{&u.ID, &u.Email, &u.EmailVerified, &u.Name, &u.GivenName, &u.FamilyName, &u.Password,
			rows.Time(&u.CreatedAt), rows.Time(&u.DisabledAt), &u.TOTPRequired, &u.TOTP, &u.TOTPStep,
			lines{&u.Groups}, lines{&u.UpstreamGroups}, &u.MustChange, rows.Time(&u.SignedInAt), &u.TOTPOwn}
	},
}

// User reads a user as they are in the transaction, also one who is disabled; ErrNotFound when there is none.
func (tx *Tx) User(id string) (*identity.User, error) {
	u, found, err := users.Find(tx.sql, `id = $1`, id)
	if err == nil && !found {
		return nil, ErrNotFound
	}
	return u, err
}

// User reads a user, also one who is disabled; ErrNotFound when there is none.
func (db *DB) User(ctx context.Context, id string) (*identity.User, error) {
	return users.Get(ctx, db.reads, `id = $1`, id)
}

// UserByEmail reads a user, also one who is disabled; ErrNotFound when there is none.
func (db *DB) UserByEmail(ctx context.Context, email string) (*identity.User, error) {
	return users.Get(ctx, db.reads, `folded = $1`, identity.Fold(email))
}

// ListUsers lists users by id.
func (db *DB) ListUsers(ctx context.Context, p rows.Page) ([]*identity.User, string, error) {
	return rows.QueryPage(ctx, db.reads, users.Scan, func(u *identity.User) string { return u.ID }, p.Size(),
		users.Select(`id > $1 ORDER BY id`), p.After)
}
