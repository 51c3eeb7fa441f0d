package access

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertAPIKey adds a key, which is found by its hash.
func (tx *Tx) InsertAPIKey(k *model.APIKey, hash [sha256.Size]byte) error {
	by := k.MadeBy.Bounded()
	return tx.sql.Run(`INSERT INTO api_keys (id, hash, label, tenant, role, created_at, expires_at, actor, name, email, claimed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		k.ID, hash[:], k.Label, k.Tenant, string(k.Role), rows.Micros(k.CreatedAt), rows.Micros(k.ExpiresAt),
		by.Actor, by.Name, by.Email, by.Claimed)
}

// RevokeAPIKey ends a key. It reports false when there is none that is good.
func (tx *Tx) RevokeAPIKey(id string, now time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL`, rows.Micros(now), id)
}

// IsAPIKeyValid reports whether a key is there, and neither revoked nor expired.
func (tx *Tx) IsAPIKeyValid(hash [sha256.Size]byte, now time.Time) (valid bool, err error) {
	var id string
	return tx.sql.Scan([]any{&id}, `SELECT id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL
		AND (expires_at IS NULL OR expires_at > $2)`, hash[:], rows.Micros(now))
}

// RevokeAPIKeysOfTenant revokes the keys of one tenant.
func (tx *Tx) RevokeAPIKeysOfTenant(tenant string, now time.Time) error {
	return tx.sql.Run(`UPDATE api_keys SET revoked_at = $1 WHERE tenant = $2 AND revoked_at IS NULL`,
		rows.Micros(now), tenant)
}

// UpdateAPIKeyUse stores when a key was used, unless a use after since is stored.
func (tx *Tx) UpdateAPIKeyUse(id string, now, since time.Time) error {
	return tx.sql.Run(`UPDATE api_keys SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL
		OR last_used_at <= $3)`,
		rows.Micros(now), id, rows.Micros(since))
}

var apiKeys = rows.Table[model.APIKey]{
	Name:    "api_keys",
	Columns: "id, label, tenant, role, created_at, revoked_at, expires_at, last_used_at, actor, name, email, claimed",
	Fields: func(k *model.APIKey) []any {
		return []any{&k.ID, &k.Label, &k.Tenant, &k.Role, rows.Time(&k.CreatedAt), rows.Time(&k.RevokedAt),
			rows.Time(&k.ExpiresAt), rows.Time(&k.LastUsedAt), &k.MadeBy.Actor, &k.MadeBy.Name, &k.MadeBy.Email, &k.MadeBy.Claimed}
	}}

// APIKeyByHash finds a key, also one that is revoked; ErrNotFound when there is none.
func (db *DB) APIKeyByHash(ctx context.Context, hash [sha256.Size]byte) (*model.APIKey, error) {
	return apiKeys.Get(ctx, db.reads, `hash = $1`, hash[:])
}

// APIKey reads a key; ErrNotFound when there is none.
func (db *DB) APIKey(ctx context.Context, id string) (*model.APIKey, error) {
	return apiKeys.Get(ctx, db.reads, `id = $1`, id)
}

// ListExpiringAPIKeys lists the keys that are used and end between two times by themselves, the first to end first, at most
// a page of them.
func (db *DB) ListExpiringAPIKeys(ctx context.Context, now, until time.Time) ([]*model.APIKey, error) {
	return rows.Query(ctx, db.reads, apiKeys.Scan, apiKeys.Select(`expires_at > $1 AND expires_at <= $2 AND revoked_at IS NULL
		AND last_used_at IS NOT NULL ORDER BY expires_at, id LIMIT $3`), rows.Micros(now), rows.Micros(until), rows.MaxPage)
}

// ListAPIKeys lists keys by id: those of a tenant, or all when it is empty.
func (db *DB) ListAPIKeys(ctx context.Context, tenant string, p rows.Page) ([]*model.APIKey, string, error) {
	where, args := `id > $1`, []any{p.After}
	if tenant != "" {
		where, args = `tenant = $2 AND id > $1`, append(args, tenant)
	}
	return rows.QueryPage(ctx, db.reads, apiKeys.Scan, func(k *model.APIKey) string { return k.ID }, p.Size(),
		apiKeys.Select(where+` ORDER BY id`), args...)
}
