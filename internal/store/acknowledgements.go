package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// UpsertAcknowledgement notes that somebody who sees a tenant, or all where it is empty, knows of a cause. It deletes those
// of before that have ended.
func (tx *Tx) UpsertAcknowledgement(tenant string, a *model.Acknowledgement) error {
	if err := tx.sql.Run(`DELETE FROM acknowledgements WHERE till <= $1`, rows.Micros(a.At)); err != nil {
		return err
	}
	by := a.Author.Bounded()
	return tx.sql.Run(`INSERT INTO acknowledgements (tenant, cause, actor, name, email, claimed, note, at, till)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant, cause) DO UPDATE SET actor = excluded.actor,
		name = excluded.name, email = excluded.email, claimed = excluded.claimed, note = excluded.note, at = excluded.at,
		till = excluded.till`,
		tenant, a.Cause, by.Actor, by.Name, by.Email, by.Claimed, a.Note, rows.Micros(a.At), rows.Micros(a.Until))
}

// DeleteAcknowledgement has a cause counted again. It reports false where it was not acknowledged.
func (tx *Tx) DeleteAcknowledgement(tenant, cause string) (bool, error) {
	return tx.sql.Changed(`DELETE FROM acknowledgements WHERE tenant = $1 AND cause = $2`, tenant, cause)
}

// ListAcknowledgements lists what those who see a tenant, or all where it is empty, know of now, by cause. People of one
// tenant also see what those of all tenants know of.
func (db *DB) ListAcknowledgements(ctx context.Context, tenant string, now time.Time) (map[string]*model.Acknowledgement, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (string, *model.Acknowledgement, error) {
		a := new(model.Acknowledgement)
		err := r.Scan(&a.Cause, &a.Actor, &a.Name, &a.Email, &a.Claimed, &a.Note, rows.Time(&a.At), rows.Time(&a.Until))
		return a.Cause, a, err
	}, `SELECT cause, actor, name, email, claimed, note, at, till FROM acknowledgements
		WHERE tenant IN ('', $1) AND till > $2 ORDER BY tenant`, tenant, rows.Micros(now))
}
