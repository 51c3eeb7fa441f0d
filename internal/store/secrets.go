package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/vault"
)

// The secrets of stored tenants and integrations, and the integrations' addresses and credentials, are stored as bodies are, and sealed
// where there is a key. Each is bound to its row: in another one it does not open. Data keys are stored alike, and
// always sealed.

// secretsAtOnce are read, and written in one transaction, when all are gone through.
const secretsAtOnce = 100

// secretTable is a column of secrets.
type secretTable struct {
	purpose string
	of      string // whose it is, with a place for each column that tells a row
	page    string // rows after a cursor, in order
	update  string // of one that was not changed since it was read
	place   int    // how many columns tell a row
	always  bool   // it is never kept otherwise than sealed
}

var (
	tenantSecrets = secretTable{
		"hiregate secrets of tenants", "a secret of tenant %s",
		`SELECT name, '', secrets FROM tenants WHERE name > $1 ORDER BY name LIMIT $2`,
		`UPDATE tenants SET secrets = $1 WHERE secrets = $2 AND name = $3`, 1, false,
	}
	tenantUpstreams = secretTable{
		"hiregate upstreams of tenants", "the apply_upstream of tenant %s",
		`SELECT name, '', apply_upstream FROM tenants WHERE apply_upstream IS NOT NULL AND name > $1 ORDER BY name LIMIT $2`,
		`UPDATE tenants SET apply_upstream = $1 WHERE apply_upstream = $2 AND name = $3`, 1, false,
	}
	integrationSecrets = secretTable{
		"hiregate secrets of integrations", "the secret of tenant %s's integration %s",
		`SELECT tenant, name, secret FROM integrations WHERE (tenant, name) > ($1, $2) ORDER BY tenant, name LIMIT $3`,
		`UPDATE integrations SET secret = $1 WHERE secret = $2 AND tenant = $3 AND name = $4`, 2, false,
	}
	integrationFormerSecrets = secretTable{
		"hiregate former secrets of integrations", "the former secret of tenant %s's integration %s",
		`SELECT tenant, name, former_secret FROM integrations WHERE former_secret IS NOT NULL
		AND (tenant, name) > ($1, $2) ORDER BY tenant, name LIMIT $3`,
		`UPDATE integrations SET former_secret = $1 WHERE former_secret = $2 AND tenant = $3 AND name = $4`, 2, false,
	}
	integrationAuthentications = secretTable{
		"hiregate authentications of integrations", "the authentication of tenant %s's integration %s",
		`SELECT tenant, name, authentication FROM integrations WHERE authentication IS NOT NULL
		AND (tenant, name) > ($1, $2) ORDER BY tenant, name LIMIT $3`,
		`UPDATE integrations SET authentication = $1 WHERE authentication = $2 AND tenant = $3 AND name = $4`, 2, false,
	}
	integrationURLs = secretTable{
		"hiregate addresses of integrations", "the address of tenant %s's integration %s",
		`SELECT tenant, name, url FROM integrations WHERE (tenant, name) > ($1, $2) ORDER BY tenant, name LIMIT $3`,
		`UPDATE integrations SET url = $1 WHERE url = $2 AND tenant = $3 AND name = $4`, 2, false,
	}
	dataKeySecrets = secretTable{
		"hiregate data keys", "the data key %s of exports",
		`SELECT id, '', sealed FROM data_keys WHERE id > $1 ORDER BY id LIMIT $2`,
		`UPDATE data_keys SET sealed = $1 WHERE sealed = $2 AND id = $3`, 1, true,
	}
	secretTables = []secretTable{tenantSecrets, tenantUpstreams, integrationSecrets, integrationFormerSecrets,
		integrationAuthentications, integrationURLs, dataKeySecrets}
)

// secretRow is a secret of a tenant or an integration, or a data key, whose id is in tenant.
type secretRow struct {
	tenant, integration string
	kept                []byte
}

// place returns the values that identify the row in its table.
func (r secretRow) place(t secretTable) []any {
	if t.place == 1 {
		return []any{r.tenant}
	}
	return []any{r.tenant, r.integration}
}

// owner is whom the secrets belong to. No name has a slash.
func (r secretRow) owner() string { return r.tenant + "/" + r.integration }

func (r secretRow) sealed() bool { return len(r.kept) > 0 && r.kept[0] == sealedBody }

// sealer seals where it has a key, and else gives nil; *vault.Shared.
type sealer interface {
	Seal(purpose, owner string, plain []byte) ([]byte, error)
}

// opener opens what was sealed; *vault.Vault and *vault.Shared.
type opener interface {
	Open(purpose, owner string, sealed []byte) ([]byte, error)
}

// ErrSealed says that a secret can't be opened with the keys that are configured.
var ErrSealed = errors.New("it was sealed in the database with a key that is not configured: add that key to the block hiregate, `seal_key {env.HIREGATE_SEAL_KEY}`; where there is another one, behind it")

// open gives what is kept as a body.
func (r secretRow) open(t secretTable, o opener) ([]byte, error) {
	if !r.sealed() {
		if t.always { // written by someone else, so that everything would be sealed with a key that they know
			return nil, fmt.Errorf("opening "+t.of+": %w", append(r.place(t), errChanged)...)
		}
		return r.kept, nil
	}
	body, err := o.Open(t.purpose, r.owner(), r.kept[1:])
	if errors.Is(err, vault.ErrSealed) {
		return nil, fmt.Errorf("opening "+t.of+": %w", append(r.place(t), ErrSealed)...)
	}
	return body, err
}

// openSecret returns the secrets themselves.
func (r secretRow) openSecret(t secretTable, o opener) ([]byte, error) {
	body, err := r.open(t, o)
	if err != nil {
		return nil, err
	}
	return unwrapBody(body)
}

// seal gives a body as it is to be kept.
func (r secretRow) seal(t secretTable, s sealer, body []byte) ([]byte, error) {
	sealed, err := s.Seal(t.purpose, r.owner(), body)
	if err != nil || sealed == nil {
		return body, err
	}
	return append([]byte{sealedBody}, sealed...), nil
}

// eachSecrets reads the secrets of a table, a page at a time.
func (db *DB) eachSecrets(ctx context.Context, t secretTable, do func([]secretRow) error) error {
	return rows.EachPage(ctx, db.reads, func(r row) (one secretRow, err error) {
		err = r.Scan(&one.tenant, &one.integration, &one.kept)
		return one, err
	}, func(last secretRow) []any { return last.place(t) }, secretsAtOnce, t.page, do)
}

// CheckSecrets fails unless a vault opens all stored secrets; ErrSealed when there is one that it does not open.
func (db *DB) CheckSecrets(ctx context.Context, v *vault.Vault) error {
	for _, t := range secretTables {
		if err := db.eachSecrets(ctx, t, func(page []secretRow) error {
			for _, one := range page {
				if _, err := one.open(t, v); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Reencrypt re-encrypts with a vault's newest key the secrets that are stored plainly or were sealed with a former key,
// and returns how many. It writes a page at a time and may be interrupted and run again. A secret that changes
// meanwhile is not changed. One that can't be opened stays as it is; the error is that of the first.
func (db *DB) Reencrypt(ctx context.Context, v *vault.Vault) (resealed int, err error) {
	// Writes that seal with another vault began earlier. They end before this one, so that they are read below.
	if err := db.Write(ctx, func(*Tx) error { return nil }); err != nil {
		return 0, err
	}
	var unopened error
	newest := v.Newest()
	for _, t := range secretTables {
		err := db.eachSecrets(ctx, t, func(page []secretRow) error {
			var old, anew []secretRow
			for _, one := range page {
				next, err := one.resealed(t, v, newest)
				if unopened == nil {
					unopened = err
				}
				if next != nil {
					old, anew = append(old, one), append(anew, *next)
				}
			}
			if len(old) == 0 {
				return nil
			}
			written := 0
			if err := db.Write(ctx, func(tx *Tx) error {
				written = 0
				for n, one := range old {
					done, err := tx.sql.Exec(t.update, append([]any{anew[n].kept, one.kept}, one.place(t)...)...)
					if err != nil {
						return err
					}
					written += int(done)
				}
				return nil
			}); err != nil {
				return err
			}
			resealed += written
			return nil
		})
		if err != nil {
			return resealed, err
		}
	}
	return resealed, unopened
}

// resealed gives the row sealed with the newest key of a vault; nil where it is, or can't be.
func (r secretRow) resealed(t secretTable, v, newest *vault.Vault) (*secretRow, error) {
	if r.sealed() {
		if _, err := r.open(t, newest); err == nil {
			return nil, nil
		}
	}
	body, err := r.open(t, v)
	if err != nil {
		return nil, err
	}
	r.kept, err = r.seal(t, newest, body)
	return &r, err
}
