package access

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertAPIUser adds a user of the Apply API; ErrTaken when the tenant has a user of that name.
func (tx *Tx) InsertAPIUser(u *model.APIUser) error {
	return tx.sql.RunOr(ErrTaken, `INSERT INTO api_users (id, tenant, user_name, folded, password, created_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		u.ID, u.Tenant, u.Name, identity.Fold(u.Name), u.Password, rows.Micros(u.CreatedAt))
}

// ResetAPIUser gives a user of a tenant another password, and revokes their tokens. One who is disabled stays so. It
// reports false when there is no such user.
func (tx *Tx) ResetAPIUser(tenant, id, password string) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE api_users SET password = $1 WHERE tenant = $2 AND id = $3`, password, tenant, id)
	if err != nil || !ok {
		return false, err
	}
	return true, tx.revokeAPITokens(id)
}

// EnableAPIUser enables a user of a tenant. It reports false when there is no such user.
func (tx *Tx) EnableAPIUser(tenant, id string) (bool, error) {
	return tx.sql.Changed(`UPDATE api_users SET disabled_at = NULL WHERE tenant = $1 AND id = $2`, tenant, id)
}

// DeleteAPIUsersOfTenant removes all users of a tenant with their tokens. Their names are free then.
func (tx *Tx) DeleteAPIUsersOfTenant(tenant string) error {
	return tx.sql.RunAll([]string{
		// A row whose unique name changes is locked against tokens that another node issues.
		`UPDATE api_users SET folded = id WHERE tenant = $1`,
		`DELETE FROM api_tokens WHERE user_id IN (SELECT id FROM api_users WHERE tenant = $1)`,
		`DELETE FROM api_users WHERE tenant = $1`,
	}, tenant)
}

// DisableAPIUser disables a user of a tenant and revokes their tokens. It reports false when there is no such user, or
// they are disabled already.
func (tx *Tx) DisableAPIUser(tenant, id string, now time.Time) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE api_users SET disabled_at = $1 WHERE tenant = $2 AND id = $3
		AND disabled_at IS NULL`,
		rows.Micros(now), tenant, id)
	if err != nil || !ok {
		return false, err
	}
	return true, tx.revokeAPITokens(id)
}

func (tx *Tx) revokeAPITokens(user string) error {
	return tx.sql.Run(`DELETE FROM api_tokens WHERE user_id = $1`, user)
}

// InsertAPIToken inserts a token of a user whose password was right, by its hash. It reports false when the user was
// disabled or got another password meanwhile.
func (tx *Tx) InsertAPIToken(u *model.APIUser, hash identity.Hash, now time.Time) (bool, error) {
	if err := rows.DeleteExpired(tx.sql, "api_tokens", "hash", "till", rows.Sweep, now); err != nil {
		return false, err
	}
	return tx.sql.Changed(`
		INSERT INTO api_tokens (hash, user_id, issued_at, till)
		SELECT $1, id, CAST($2 AS BIGINT), CAST($3 AS BIGINT) FROM api_users WHERE id = $4 AND password = $5
		AND disabled_at IS NULL`,
		hash[:], rows.Micros(now), rows.Micros(now.Add(model.TokenLife)), u.ID, u.Password)
}

// LockAPIToken reports whether a token is valid, and locks its row until the transaction ends: neither it nor its user
// is deleted.
func (tx *Tx) LockAPIToken(hash identity.Hash, now time.Time) (valid bool, err error) {
	var user string
	return tx.sql.Scan([]any{&user}, `SELECT user_id FROM api_tokens WHERE hash = $1
		AND till > $2`+tx.sql.KeyShare(), hash[:], rows.Micros(now))
}

var apiUsers = rows.Table[model.APIUser]{
	Name:    "api_users",
	Columns: "id, tenant, user_name, password, created_at, disabled_at",
	Fields: func(u *model.APIUser) []any {
		return []any{&u.ID, &u.Tenant, &u.Name, &u.Password, rows.Time(&u.CreatedAt), rows.Time(&u.DisabledAt)}
	}}

// APIUserByName reads a user of a tenant, also one who is disabled; ErrNotFound when there is none.
func (db *DB) APIUserByName(ctx context.Context, tenant, name string) (*model.APIUser, error) {
	return apiUsers.Get(ctx, db.reads, `folded = $1 AND tenant = $2`, identity.Fold(name), tenant)
}

// ListAPIUsersByName reads the users of a name, of all tenants, also those who are disabled.
func (db *DB) ListAPIUsersByName(ctx context.Context, name string) ([]*model.APIUser, error) {
	return rows.Query(ctx, db.reads, apiUsers.Scan, apiUsers.Select(`folded = $1 ORDER BY id`), identity.Fold(name))
}

// APIUser reads a user of a tenant, also one who is disabled; ErrNotFound when there is none.
func (db *DB) APIUser(ctx context.Context, tenant, id string) (*model.APIUser, error) {
	return apiUsers.Get(ctx, db.reads, `tenant = $1 AND id = $2`, tenant, id)
}

// APIUserByToken reads the user of a valid token; ErrNotFound when it is unknown, expired or revoked.
func (db *DB) APIUserByToken(ctx context.Context, hash identity.Hash, now time.Time) (*model.APIUser, error) {
	return apiUsers.Get(ctx, db.reads, `disabled_at IS NULL AND id = (SELECT user_id FROM api_tokens WHERE hash = $1
		AND till > $2)`, hash[:], rows.Micros(now))
}

// ListAPIUsers lists the users of a tenant by id.
func (db *DB) ListAPIUsers(ctx context.Context, tenant string, p rows.Page) ([]*model.APIUser, string, error) {
	return rows.QueryPage(ctx, db.reads, apiUsers.Scan, func(u *model.APIUser) string { return u.ID }, p.Size(),
		apiUsers.Select(`tenant = $1 AND id > $2 ORDER BY id`), tenant, p.After)
}
