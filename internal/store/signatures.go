package store

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// UpsertSecretUse stores when an inbound secret was used, unless a later use is stored. Its fingerprint is that of
// model.Secret.
func (tx *Tx) UpsertSecretUse(tenant string, fingerprint []byte, at time.Time) error {
	return tx.sql.Run(`INSERT INTO secret_uses (tenant, fingerprint, last_used_at) VALUES ($1, $2, $3)
		ON CONFLICT (tenant, fingerprint) DO UPDATE SET last_used_at = excluded.last_used_at
		WHERE secret_uses.last_used_at < excluded.last_used_at`, tenant, fingerprint, rows.Micros(at))
}

// AddRefusedSignatures counts requests for a tenant whose signature matched no secret.
func (tx *Tx) AddRefusedSignatures(tenant string, n int64, last time.Time) error {
	return tx.sql.Run(`INSERT INTO refused_signatures (tenant, count, last_at) VALUES ($1, $2, $3)
		ON CONFLICT (tenant) DO UPDATE SET count = refused_signatures.count + excluded.count,
			last_at = CASE WHEN excluded.last_at > refused_signatures.last_at THEN excluded.last_at
				ELSE refused_signatures.last_at END`, tenant, n, rows.Micros(last))
}

// deleteSignatures deletes what is known of the signatures of a tenant's requests.
func (tx *Tx) deleteSignatures(tenant string) error {
	if err := tx.sql.Run(`DELETE FROM secret_uses WHERE tenant = $1`, tenant); err != nil {
		return err
	}
	return tx.sql.Run(`DELETE FROM refused_signatures WHERE tenant = $1`, tenant)
}

// SecretUses are the times of the last use of inbound secrets, by tenant and fingerprint.
type SecretUses map[[2]string]time.Time

// Of returns when each secret of a tenant was last used, in their order; the zero time: it was not.
func (u SecretUses) Of(t *model.Tenant) []time.Time {
	uses := make([]time.Time, len(t.Secrets))
	for n, secret := range t.Secrets {
		uses[n] = u[[2]string{t.Name, string(secret.Fingerprint(t.Name))}]
	}
	return uses
}

const selectSecretUses = `SELECT tenant, fingerprint, last_used_at FROM secret_uses`

func scanSecretUse(r row) (key [2]string, at time.Time, err error) {
	var fingerprint []byte
	err = r.Scan(&key[0], &fingerprint, rows.Time(&at))
	key[1] = string(fingerprint)
	return key, at, err
}

// SecretUses reads when the secrets of a tenant were last used.
func (db *DB) SecretUses(ctx context.Context, tenant string) (SecretUses, error) {
	return rows.QueryMap(ctx, db.reads, scanSecretUse, selectSecretUses+` WHERE tenant = $1`, tenant)
}

// ListSecretUses reads when the secrets of all tenants were last used.
func (db *DB) ListSecretUses(ctx context.Context) (SecretUses, error) {
	return rows.QueryMap(ctx, db.reads, scanSecretUse, selectSecretUses)
}

// RefusedSignatures are requests for a tenant whose signature matched no secret.
type RefusedSignatures struct {
	Count int64
	Last  time.Time // zero: there was none
}

// RefusedSignatures reads how many requests for a tenant were refused for their signature.
func (db *DB) RefusedSignatures(ctx context.Context, tenant string) (RefusedSignatures, error) {
	refused, err := rows.QueryOne(ctx, db.reads, func(r row) (n RefusedSignatures, err error) {
		err = r.Scan(&n.Count, rows.Time(&n.Last))
		return n, err
	}, `SELECT count, last_at FROM refused_signatures WHERE tenant = $1`, tenant)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return refused, err
}
