package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// ErrTooMany says that a client has as many secrets as it may.
var ErrTooMany = errors.New("there are as many as there may be")

// AddClient adds an OAuth client; ErrTaken when its id is another's.
func (tx *Tx) AddClient(c *identity.Client) error {
	redirect, logout, err := uris(c)
	if err != nil {
		return err
	}
	n, err := tx.sql.Exec(`
		INSERT INTO oauth_clients (id, name, redirect_uris, logout_uris, algorithm, secret_post, require_pkce, consent, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		c.ID, c.Name, redirect, logout, string(c.Algorithm), c.SecretPost, c.RequirePKCE, c.Consent, micros(c.CreatedAt))
	return orTaken(n, err)
}

// UpdateClient writes the settings of a client. It reports false when there is none.
func (tx *Tx) UpdateClient(c *identity.Client) (bool, error) {
	redirect, logout, err := uris(c)
	if err != nil {
		return false, err
	}
	n, err := tx.sql.Exec(`
		UPDATE oauth_clients SET name = $2, redirect_uris = $3, logout_uris = $4, algorithm = $5, secret_post = $6, require_pkce = $7, consent = $8
		WHERE id = $1`, c.ID, c.Name, redirect, logout, string(c.Algorithm), c.SecretPost, c.RequirePKCE, c.Consent)
	return n == 1, err
}

func uris(c *identity.Client) (redirect, logout string, err error) {
	r, err1 := json.Marshal(c.RedirectURIs)
	l, err2 := json.Marshal(c.LogoutURIs)
	return string(r), string(l), errors.Join(err1, err2)
}

// DisableClient keeps a client from asking for anything, and ends what was granted to it. It reports false when there is none, or
// none that is not disabled already.
func (tx *Tx) DisableClient(id string, now time.Time) (bool, error) {
	n, err := tx.sql.Exec(`UPDATE oauth_clients SET disabled_at = $1 WHERE id = $2 AND disabled_at IS NULL`, micros(now), id)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = tx.sql.Exec(`UPDATE grants SET revoked_at = $1 WHERE client = $2 AND revoked_at IS NULL`, micros(now), id)
	return true, err
}

// EnableClient takes back that a client was disabled. It reports false when there is none.
func (tx *Tx) EnableClient(id string) (bool, error) {
	n, err := tx.sql.Exec(`UPDATE oauth_clients SET disabled_at = NULL WHERE id = $1`, id)
	return n == 1, err
}

// AddClientSecret adds a secret, by its hash, beside the one that there may be; ErrTooMany when there are two.
func (tx *Tx) AddClientSecret(client string, hash identity.Hash, now time.Time) error {
	// The client's row is written so that two nodes can't add a third secret between them.
	if _, err := tx.sql.Exec(`UPDATE oauth_clients SET name = name WHERE id = $1`, client); err != nil {
		return err
	}
	var n int
	var newest time.Time
	if _, err := tx.sql.Scan([]any{&n, moment{&newest}}, `SELECT COUNT(*), MAX(created_at) FROM oauth_secrets WHERE client = $1`, client); err != nil {
		return err
	}
	if n >= identity.MaxSecrets {
		return ErrTooMany
	}
	// It is the newest, though the clock that the one before was made by went ahead of ours.
	if !now.After(newest) {
		now = newest.Add(time.Microsecond)
	}
	_, err := tx.sql.Exec(`INSERT INTO oauth_secrets (client, hash, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, client, hash[:], micros(now))
	return err
}

// KeepClientSecret ends all secrets of a client but the newest, so that another can be added.
func (tx *Tx) KeepClientSecret(client string) error {
	_, err := tx.sql.Exec(`DELETE FROM oauth_secrets WHERE client = $1 AND created_at < (SELECT MAX(created_at) FROM oauth_secrets WHERE client = $1)`, client)
	return err
}

const clientColumns = `id, name, redirect_uris, logout_uris, algorithm, secret_post, require_pkce, consent, created_at, disabled_at`

func scanClient(r row) (*identity.Client, error) {
	var c identity.Client
	var redirect, logout string
	if err := r.Scan(&c.ID, &c.Name, &redirect, &logout, &c.Algorithm, &c.SecretPost, &c.RequirePKCE, &c.Consent, moment{&c.CreatedAt}, moment{&c.DisabledAt}); err != nil {
		return nil, err
	}
	if err := errors.Join(json.Unmarshal([]byte(redirect), &c.RedirectURIs), json.Unmarshal([]byte(logout), &c.LogoutURIs)); err != nil {
		return nil, fmt.Errorf("reading the addresses of an OAuth client: %w", err)
	}
	return &c, nil
}

// Client reads an OAuth client, also one that is disabled; ErrNotFound when there is none.
func (db *DB) Client(ctx context.Context, id string) (*identity.Client, error) {
	return queryOne(ctx, db, scanClient, `SELECT `+clientColumns+` FROM oauth_clients WHERE id = $1`, id)
}

// HoldClient reads an OAuth client within a transaction, and how many secrets it has. Nobody else changes either until that ends.
func (tx *Tx) HoldClient(id string) (c *identity.Client, secrets int, ok bool, err error) {
	if _, err := tx.sql.Exec(`UPDATE oauth_clients SET name = name WHERE id = $1`, id); err != nil {
		return nil, 0, false, err
	}
	c, ok, err = first(queryTx(tx, scanClient, `SELECT `+clientColumns+` FROM oauth_clients WHERE id = $1`, id))
	if err == nil && ok {
		_, err = tx.sql.Scan([]any{&secrets}, `SELECT COUNT(*) FROM oauth_secrets WHERE client = $1`, id)
	}
	return c, secrets, ok, err
}

// Clients lists OAuth clients by id.
func (db *DB) Clients(ctx context.Context, p Page) (page []*identity.Client, next string, err error) {
	page, err = query(ctx, db, scanClient, `SELECT `+clientColumns+` FROM oauth_clients WHERE id > $1 ORDER BY id LIMIT $2`, p.After, p.limit()+1)
	if err == nil && len(page) > p.limit() {
		page = page[:p.limit()]
		next = page[len(page)-1].ID
	}
	return page, next, err
}

// ClientSecrets reads the hashes of the secrets of a client, the oldest first.
func (db *DB) ClientSecrets(ctx context.Context, client string) ([]identity.Hash, error) {
	return query(ctx, db, func(r row) (h identity.Hash, err error) {
		var kept []byte
		err = r.Scan(&kept)
		copy(h[:], kept)
		return h, err
	}, `SELECT hash FROM oauth_secrets WHERE client = $1 ORDER BY created_at, hash LIMIT $2`, client, identity.MaxSecrets)
}
