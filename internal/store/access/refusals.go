package access

import (
	"context"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

const (
	// refusalsOfClient is how many refusals are kept of each known client, and of all unknown ones together: anybody can
	// cause them.
	refusalsOfClient = 50
	// MaxRefusals is how many ListRefusals lists.
	MaxRefusals = 1000
)

// CountRefusal adds a refusal to those of the same client, reason and redirect URI. Of many different ones the latest
// are kept.
func (tx *Tx) CountRefusal(r identity.Refusal) error {
	if err := rows.DeleteExpired(tx.sql, "signin_refusals", "id", "last_at", rows.Sweep,
		r.LastAt.Add(-logKept)); err != nil {
		return err
	}
	if err := tx.sql.Run(`INSERT INTO signin_refusals (client, known, reason, redirect_uri, count, first_at, last_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (client, reason, redirect_uri)
		DO UPDATE SET count = signin_refusals.count + excluded.count, last_at = excluded.last_at, known = excluded.known`,
		r.Client, r.Known, r.Reason, r.RedirectURI, r.Count, rows.Micros(r.FirstAt), rows.Micros(r.LastAt)); err != nil {
		return err
	}
	const others = `DELETE FROM signin_refusals WHERE id IN (SELECT id FROM signin_refusals WHERE `
	if r.Known {
		return tx.sql.Run(others+`known AND client = $1 ORDER BY last_at DESC, id DESC LIMIT 1000 OFFSET $2)`, r.Client,
			refusalsOfClient)
	}
	return tx.sql.Run(others+`NOT known ORDER BY last_at DESC, id DESC LIMIT 1000 OFFSET $1)`, refusalsOfClient)
}

// ListRefusals lists the refusals, the latest first, of all clients or of one; at most MaxRefusals.
func (db *DB) ListRefusals(ctx context.Context, client string) ([]identity.Refusal, error) {
	where, args := "", []any{MaxRefusals}
	if client != "" {
		where, args = " WHERE client = $2", append(args, client)
	}
	return rows.Query(ctx, db.reads, func(r row) (f identity.Refusal, err error) {
		err = r.Scan(&f.ID, &f.Client, &f.Known, &f.Reason, &f.RedirectURI, &f.Count, rows.Time(&f.FirstAt),
			rows.Time(&f.LastAt))
		return f, err
	}, `SELECT id, client, known, reason, redirect_uri, count, first_at, last_at FROM signin_refusals`+where+
		` ORDER BY last_at DESC, id DESC LIMIT $1`, args...)
}
