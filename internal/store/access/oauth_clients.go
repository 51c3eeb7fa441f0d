package access

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertClient adds an OAuth client; ErrTaken when its id is another's.
func (tx *Tx) InsertClient(c *identity.Client) error {
	return tx.sql.RunOr(ErrTaken, `
		INSERT INTO oauth_clients (id, name, redirect_uris, logout_uris, algorithm, secret_post, require_pkce, consent,
		created_at, backchannel_logout_uri, for_groups)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
		c.ID, c.Name, rows.JSON(c.RedirectURIs), rows.JSON(c.LogoutURIs), string(c.Algorithm), c.SecretPost,
		c.RequirePKCE, c.Consent, rows.Micros(c.CreatedAt), c.BackchannelLogoutURI, lines{&c.Groups})
}

// UpdateClient writes the settings of a client. It reports false when there is none.
func (tx *Tx) UpdateClient(c *identity.Client) (bool, error) {
	return tx.sql.Changed(`
		UPDATE oauth_clients SET name = $2, redirect_uris = $3, logout_uris = $4, algorithm = $5, secret_post = $6,
		require_pkce = $7, consent = $8, backchannel_logout_uri = $9, for_groups = $10
		WHERE id = $1`, c.ID, c.Name, rows.JSON(c.RedirectURIs), rows.JSON(c.LogoutURIs), string(c.Algorithm),
		c.SecretPost, c.RequirePKCE, c.Consent, c.BackchannelLogoutURI, lines{&c.Groups})
}

// DisableClient disables a client and revokes its grants. It reports false when there is no such client, or it is
// disabled already.
func (tx *Tx) DisableClient(id string, now time.Time) (bool, error) {
	ok, err := tx.sql.Changed(`UPDATE oauth_clients SET disabled_at = $1 WHERE id = $2 AND disabled_at IS NULL`,
		rows.Micros(now), id)
	if err != nil || !ok {
		return false, err
	}
	err = tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE client = $2 AND revoked_at IS NULL`, rows.Micros(now), id)
	return true, err
}

// EnableClient enables a client. It reports false when there is none.
func (tx *Tx) EnableClient(id string) (bool, error) {
	return tx.sql.Changed(`UPDATE oauth_clients SET disabled_at = NULL WHERE id = $1`, id)
}

// InsertClientSecret adds a secret, by its hash, beside the one that there may be; ErrTooMany when there are two.
func (tx *Tx) InsertClientSecret(client string, hash identity.Hash, now time.Time) error {
	// The client's row is written so that two nodes can't add a third secret between them.
	if err := tx.sql.Run(`UPDATE oauth_clients SET name = name WHERE id = $1`, client); err != nil {
		return err
	}
	var n int
	var newest time.Time
	if _, err := tx.sql.Scan([]any{&n, rows.Time(&newest)}, `SELECT COUNT(*), MAX(created_at) FROM oauth_secrets
		WHERE client = $1`, client); err != nil {
		return err
	}
	if n >= identity.MaxSecrets {
		return ErrTooMany
	}
	// It is the newest, though the clock that the one before was made by went ahead of ours.
	if !now.After(newest) {
		now = newest.Add(time.Microsecond)
	}
	return tx.sql.Run(`INSERT INTO oauth_secrets (client, hash, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		client, hash[:], rows.Micros(now))
}

// DeleteOlderClientSecrets ends all secrets of a client but the newest, so that another can be added.
func (tx *Tx) DeleteOlderClientSecrets(client string) error {
	return tx.sql.Run(`DELETE FROM oauth_secrets WHERE client = $1 AND created_at < (SELECT MAX(created_at)
		FROM oauth_secrets WHERE client = $1)`, client)
}

var clients = rows.Table[identity.Client]{
	Name: "oauth_clients",
	Columns: `id, name, redirect_uris, logout_uris, algorithm, secret_post, require_pkce, consent, created_at,
		disabled_at, backchannel_logout_uri, for_groups`,
	Fields: func(c *identity.Client) []any {
		return []any{&c.ID, &c.Name, rows.JSON(&c.RedirectURIs), rows.JSON(&c.LogoutURIs), &c.Algorithm, &c.SecretPost,
			&c.RequirePKCE, &c.Consent,
			rows.Time(&c.CreatedAt), rows.Time(&c.DisabledAt), &c.BackchannelLogoutURI, lines{&c.Groups}}
	},
}

// Client reads an OAuth client, also one that is disabled; ErrNotFound when there is none.
func (db *DB) Client(ctx context.Context, id string) (*identity.Client, error) {
	return clients.Get(ctx, db.reads, `id = $1`, id)
}

// LockClient reads an OAuth client and counts its secrets, with a lock on its row until the transaction ends.
func (tx *Tx) LockClient(id string) (c *identity.Client, secrets int, ok bool, err error) {
	if err := tx.sql.Run(`UPDATE oauth_clients SET name = name WHERE id = $1`, id); err != nil {
		return nil, 0, false, err
	}
	c, ok, err = clients.Find(tx.sql, `id = $1`, id)
	if err == nil && ok {
		_, err = tx.sql.Scan([]any{&secrets}, `SELECT COUNT(*) FROM oauth_secrets WHERE client = $1`, id)
	}
	return c, secrets, ok, err
}

// ListClients lists OAuth clients by id.
func (db *DB) ListClients(ctx context.Context, p rows.Page) ([]*identity.Client, string, error) {
	return rows.QueryPage(ctx, db.reads, clients.Scan, func(c *identity.Client) string { return c.ID }, p.Size(),
		clients.Select(`id > $1 ORDER BY id`), p.After)
}

// ListClientSecrets reads the hashes of the secrets of a client, the oldest first.
func (db *DB) ListClientSecrets(ctx context.Context, client string) ([]identity.Hash, error) {
	return rows.Query(ctx, db.reads, func(r row) (h identity.Hash, err error) {
		var kept []byte
		err = r.Scan(&kept)
		copy(h[:], kept)
		return h, err
	}, `SELECT hash FROM oauth_secrets WHERE client = $1 ORDER BY created_at, hash LIMIT $2`,
		client, identity.MaxSecrets)
}
