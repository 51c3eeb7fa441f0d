package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/vault"
)

// UpsertTenant writes a tenant without its integrations if its version is still the one it was read with; version 0: if
// there is none. It sets the next version and the times. ErrStale otherwise.
func (tx *Tx) UpsertTenant(t *model.Tenant, now time.Time) error {
	secrets, err := json.Marshal(t.SigningKeys())
	if err != nil {
		return err
	}
	kept, err := secretRow{tenant: t.Name}.seal(tenantSecrets, tx.db.vaults, wrapBody(secrets))
	if err != nil {
		return fmt.Errorf("sealing the secrets of a tenant: %w", err)
	}
	var upstream []byte
	if u := t.ApplyUpstream; u != nil {
		body := wrapBody(nil) // is read as damaged again
		if !u.Damaged() {
			raw := u.Format()
			body = wrapBody(append(checksum(upstreamParts(t.Name, raw)), raw...))
		}
		if upstream, err = (secretRow{tenant: t.Name}).seal(tenantUpstreams, tx.db.vaults, body); err != nil {
			return fmt.Errorf("sealing the apply_upstream of a tenant: %w", err)
		}
	}
	perSecond, burst := rateColumns(t.Rate)
	return tx.upsertDirectory(&t.Row, now, `
		INSERT INTO tenants (version, created_at, updated_at, name, title, secrets, quarantine, rate, burst,
		deviations, zone, labels, apply_upstream, secret_ends)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT DO NOTHING`, `
		UPDATE tenants SET version = $1, created_at = $2, updated_at = $3, title = $5, secrets = $6, quarantine = $7,
		rate = $8, burst = $9, deviations = $10, zone = $11, labels = $12, apply_upstream = $13,
		secret_ends = $14 WHERE name = $4 AND created_at = $2 AND version = $15`,
		t.Name, t.Title, kept, t.Quarantine, perSecond, burst, string(t.Deviations), t.Zone,
		strings.Join(t.Labels.Words(), " "), upstream, t.FormatSecretEnds())
}

// upstreamParts are whose upstream it is, and the upstream as it is stored.
func upstreamParts(tenant string, raw []byte) []string { return []string{tenant, string(raw)} }

// UpsertIntegration writes an integration of a stored tenant, as UpsertTenant does. An insertion raises the tenant's
// version, too. Its status is written with UpsertIntegrationStatus.
func (tx *Tx) UpsertIntegration(i *model.Integration, now time.Time) error {
	if i.Row.Version == 0 {
		if err := tx.raiseTenantVersion(i.Tenant, now); err != nil {
			return err
		}
	}
	sealed := secretRow{tenant: i.Tenant, integration: i.Name}
	secret, err := sealed.seal(integrationSecrets, tx.db.vaults, wrapBody([]byte(i.Secret.Reveal())))
	if err != nil {
		return fmt.Errorf("sealing the secret of an integration: %w", err)
	}
	url, err := sealed.seal(integrationURLs, tx.db.vaults, wrapBody([]byte(i.URL)))
	if err != nil {
		return fmt.Errorf("sealing the address of an integration: %w", err)
	}
	var former []byte
	if i.FormerSecret != "" {
		body := wrapBody([]byte(i.FormerSecret.Reveal()))
		if former, err = sealed.seal(integrationFormerSecrets, tx.db.vaults, body); err != nil {
			return fmt.Errorf("sealing the former secret of an integration: %w", err)
		}
	}
	var authentication []byte
	if i.Authentication != nil {
		body := wrapBody(i.Authentication.Format())
		if authentication, err = sealed.seal(integrationAuthentications, tx.db.vaults, body); err != nil {
			return fmt.Errorf("sealing the authentication of an integration: %w", err)
		}
	}
	perSecond, burst := rateColumns(i.Rate)
	return tx.upsertDirectory(&i.Row, now, `
		INSERT INTO integrations (version, created_at, updated_at, tenant, name, url, secret, documents,
		standard_webhooks, in_flight, retry, former_secret, rotated_at, traceparent, rate, burst,
		authentication, checksum)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT DO NOTHING`, `
		UPDATE integrations SET version = $1, created_at = $2, updated_at = $3, url = $6, secret = $7, documents = $8,
		standard_webhooks = $9, in_flight = $10, retry = $11, former_secret = $12, rotated_at = $13, traceparent = $14,
		rate = $15, burst = $16, authentication = $17, checksum = $18
		WHERE tenant = $4 AND name = $5 AND created_at = $2 AND version = $19`,
		i.Tenant, i.Name, url, secret, string(i.Documents), i.StandardWebhooks, i.InFlight, i.Retry.String(),
		former, rows.Micros(i.RotatedAt), i.Traceparent, perSecond, burst, authentication, i.Setting())
}

// upsertDirectory inserts or updates a row whose first columns are version and times.
func (tx *Tx) upsertDirectory(row *model.Row, now time.Time, insert, update string, values ...any) error {
	next := nextVersion(*row, now)
	args := append([]any{next.Version, rows.Micros(next.CreatedAt), rows.Micros(next.UpdatedAt)}, values...)
	q := insert
	if row.Version > 0 {
		q, args = update, append(args, row.Version)
	}
	err := tx.writeDirectory(q, args...)
	if err == nil {
		*row = next
	}
	return err
}

// raiseTenantVersion gives a tenant whose list of integrations changes its next version; ErrStale when it is gone.
func (tx *Tx) raiseTenantVersion(name string, now time.Time) error {
	return tx.sql.RunOr(ErrStale, `UPDATE tenants SET version = version + 1, updated_at = $1 WHERE name = $2`,
		rows.Micros(now), name)
}

// raiseDirectoryVersion makes the nodes of this database reload tenants and integrations.
func (tx *Tx) raiseDirectoryVersion() error {
	return tx.sql.Run(`UPDATE directory SET version = version + 1 WHERE id = 1`)
}

// DeleteTenant removes a stored tenant, which must have no integration any more; ErrStale when it was changed
// meanwhile. Its exports and resources stay; see Remains.
func (tx *Tx) DeleteTenant(t *model.Tenant) error {
	for _, forget := range []func(string) error{tx.deleteSignatures, tx.deletePortalLinks, tx.deleteRemarks, tx.deleteEventCounts, tx.deleteQuarters,
		tx.deleteUpstream} {
		if err := forget(t.Name); err != nil {
			return err
		}
	}
	return tx.writeDirectory(`DELETE FROM tenants WHERE name = $1 AND version = $2 AND created_at = $3`,
		t.Name, t.Row.Version, rows.Micros(t.Row.CreatedAt))
}

// DeleteIntegration deletes an integration of a stored tenant and raises the tenant's version; ErrStale when it was
// changed meanwhile.
func (tx *Tx) DeleteIntegration(i *model.Integration, now time.Time) error {
	if err := tx.raiseTenantVersion(i.Tenant, now); err != nil {
		return err
	}
	for _, forget := range []func(*model.Integration) error{tx.deleteConditions, tx.deleteHealth} {
		if err := forget(i); err != nil {
			return err
		}
	}
	return tx.writeDirectory(`DELETE FROM integrations WHERE tenant = $1 AND name = $2 AND version = $3
		AND created_at = $4`, i.Tenant, i.Name, i.Row.Version, rows.Micros(i.Row.CreatedAt))
}

// writeDirectory writes a row, and makes the nodes reload the directory; ErrStale when there is no such row.
func (tx *Tx) writeDirectory(q string, args ...any) error {
	if err := tx.sql.RunOr(ErrStale, q, args...); err != nil {
		return err
	}
	return tx.raiseDirectoryVersion()
}

// DirectoryVersion rises with each change of a tenant or an integration, made by whichever node.
func (db *DB) DirectoryVersion(ctx context.Context) (version int64, err error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[int64], `SELECT version FROM directory WHERE id = 1`)
}

// ListTenants reads all stored tenants with their integrations, a page at a time, ordered by name; ErrSealed when a
// secret can't be opened.
func (db *DB) ListTenants(ctx context.Context) ([]*model.Tenant, error) {
	return listTenants(ctx, db.reads, db.vaults)
}

// PeekTenants is ListTenants of the database at an address, which it neither claims nor changes: there are none where
// there is no such database, or it has no tables yet.
func PeekTenants(ctx context.Context, address string, v *vault.Vault) ([]*model.Tenant, error) {
	return listTenants(ctx, peeked(address), v)
}

func listTenants(ctx context.Context, db rows.Reader, o opener) ([]*model.Tenant, error) {
	var all []*model.Tenant
	byName := map[string]*model.Tenant{}
	err := rows.EachPage(ctx, db, scanTenant, func(last tenantRow) []any { return []any{last.Name} }, MaxPage,
		`SELECT name, title, secrets, apply_upstream, quarantine, deviations, rate, burst, zone,
		labels, secret_ends, version, created_at, updated_at FROM tenants WHERE name > $1 ORDER BY name LIMIT $2`,
		func(page []tenantRow) error {
			for _, kept := range page {
				t, err := kept.open(o)
				if err != nil {
					return err
				}
				all, byName[t.Name] = append(all, t), t
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	err = rows.EachPage(ctx, db, scanIntegration, func(last integrationRow) []any { return []any{last.Tenant, last.Name} },
		MaxPage, `SELECT tenant, name, url, secret, former_secret, authentication,
		documents, standard_webhooks, in_flight, retry, rotated_at, traceparent, rate, burst, version, created_at,
		updated_at, checksum FROM integrations WHERE (tenant, name) > ($1, $2) ORDER BY tenant, name LIMIT $3`,
		func(page []integrationRow) error {
			for _, kept := range page {
				i, err := kept.open(o)
				if err != nil {
					return err
				}
				if t, ok := byName[i.Tenant]; ok { // else made since the tenants were read: the version has risen
					t.Integrations = append(t.Integrations, *i)
				}
			}
			return nil
		})
	return all, err
}

// tenantRow and integrationRow hold a row, with its secrets as they are stored.
type (
	tenantRow struct {
		model.Tenant
		kept, upstream []byte
		ends           string // when its secrets end
	}
	integrationRow struct {
		model.Integration
		secret, former, url, authentication []byte
		checksum                            []byte
	}
)

// rateRow holds the columns of a rate; nil: there is none.
type rateRow struct {
	perSecond *float64
	burst     *int
}

func (r rateRow) rate() *model.Rate {
	if r.perSecond == nil || r.burst == nil {
		return nil
	}
	return &model.Rate{PerSecond: *r.perSecond, Burst: *r.burst}
}

// rateColumns returns what the columns of a rate hold.
func rateColumns(r *model.Rate) (perSecond, burst any) {
	if r == nil {
		return nil, nil
	}
	return r.PerSecond, r.Burst
}

func scanTenant(r row) (one tenantRow, err error) {
	t := &one.Tenant
	var limit rateRow
	labels := ""
	if err := r.Scan(&t.Name, &t.Title, &one.kept, &one.upstream, &t.Quarantine, &t.Deviations, &limit.perSecond, &limit.burst,
		&t.Zone, &labels, &one.ends, &t.Row.Version, rows.Time(&t.Row.CreatedAt), rows.Time(&t.Row.UpdatedAt)); err != nil {
		return one, err
	}
	t.Rate = limit.rate()
	t.Row.Tenant = t.Name
	if labels != "" {
		t.Labels, err = model.ParseLabels(strings.Fields(labels))
	}
	return one, err
}

// opened is the tenant with its secrets.
func (k tenantRow) open(o opener) (*model.Tenant, error) {
	secrets, err := secretRow{tenant: k.Name, kept: k.kept}.openSecret(tenantSecrets, o)
	if err != nil {
		return nil, err
	}
	var keys []string
	if err := json.Unmarshal(secrets, &keys); err != nil {
		return nil, fmt.Errorf("reading the secrets of a tenant: %w", err)
	}
	for _, key := range keys {
		k.Secrets = append(k.Secrets, model.Secret(key))
	}
	if err := k.ParseSecretEnds(k.ends); err != nil {
		return nil, fmt.Errorf("reading when the secrets of a tenant end: %w", err)
	}
	if k.upstream != nil {
		if k.ApplyUpstream, err = k.openUpstream(o); errors.Is(err, ErrUnreadable) {
			k.ApplyUpstream, err = model.DamagedUpstream(), nil
		}
	}
	return &k.Tenant, err
}

// openUpstream returns the service that a tenant's applications are relayed to; ErrUnreadable when its row was damaged:
// applicants must not go to somebody else's address.
func (k tenantRow) openUpstream(o opener) (*model.ApplyUpstream, error) {
	raw, err := secretRow{tenant: k.Name, kept: k.upstream}.openSecret(tenantUpstreams, o)
	if err != nil {
		return nil, err
	}
	if len(raw) < sha256.Size {
		return nil, errChanged
	}
	sum, raw := raw[:sha256.Size], raw[sha256.Size:]
	if err := compare(sum, upstreamParts(k.Name, raw)); err != nil {
		return nil, err
	}
	return model.ParseApplyUpstream(raw)
}

func scanIntegration(r row) (one integrationRow, err error) {
	i := &one.Integration
	var gaps string
	var limit rateRow
	if err := r.Scan(&i.Tenant, &i.Name, &one.url, &one.secret, &one.former, &one.authentication, &i.Documents,
		&i.StandardWebhooks, &i.InFlight, &gaps, rows.Time(&i.RotatedAt), &i.Traceparent, &limit.perSecond, &limit.burst, &i.Row.Version,
		rows.Time(&i.Row.CreatedAt), rows.Time(&i.Row.UpdatedAt), &one.checksum); err != nil {
		return one, err
	}
	i.Verify, i.Row.Tenant, i.Rate = true, i.Tenant, limit.rate()
	for _, gap := range strings.Fields(gaps) {
		d, err := time.ParseDuration(gap)
		if err != nil {
			return one, fmt.Errorf("reading the retry schedule of an integration: %w", err)
		}
		i.Retry = append(i.Retry, d)
	}
	return one, nil
}

// open returns the integration with its secrets and its address; without them, and marked as such, one whose row was
// damaged: its exports must not go to somebody else's address, and the other integrations go on.
func (k integrationRow) open(o opener) (*model.Integration, error) {
	i, err := k.opened(o)
	if errors.Is(err, ErrUnreadable) || err == nil && k.checksum != nil && !bytes.Equal(k.checksum, i.Setting()) {
		k.Damaged = true
		return &k.Integration, nil
	}
	return i, err
}

func (k integrationRow) opened(o opener) (*model.Integration, error) {
	secret, err := secretRow{k.Integration.Tenant, k.Name, k.secret}.openSecret(integrationSecrets, o)
	if err != nil {
		return nil, err
	}
	url, err := secretRow{k.Integration.Tenant, k.Name, k.url}.openSecret(integrationURLs, o)
	if err != nil {
		return nil, err
	}
	k.Secret, k.URL = model.Secret(secret), string(url)
	if k.former != nil {
		former, err := secretRow{k.Integration.Tenant, k.Name, k.former}.openSecret(integrationFormerSecrets, o)
		if err != nil {
			return nil, err
		}
		k.FormerSecret = model.Secret(former)
	}
	if k.authentication != nil {
		sealed := secretRow{k.Integration.Tenant, k.Name, k.authentication}
		authentication, err := sealed.openSecret(integrationAuthentications, o)
		if err != nil {
			return nil, err
		}
		if k.Authentication, err = model.ParseAuthentication(authentication); err != nil {
			return nil, fmt.Errorf("reading the authentication of an integration: %w: %w", errChanged, err)
		}
	}
	return &k.Integration, nil
}
