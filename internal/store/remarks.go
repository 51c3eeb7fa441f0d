package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// AddRemark adds to what is counted of a kind and name. A count that is over, see RemarkKind.Gap, begins again.
func (tx *Tx) AddRemark(m model.Remark) error {
	return tx.sql.Run(`INSERT INTO remarks (tenant, kind, name, count, first_at, last_at, rule, pointer)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (tenant, kind, name) DO UPDATE SET
			count = CASE WHEN remarks.last_at < $9 THEN excluded.count ELSE remarks.count + excluded.count END,
			first_at = CASE WHEN remarks.last_at < $9 THEN excluded.first_at ELSE remarks.first_at END,
			last_at = CASE WHEN remarks.last_at > excluded.last_at THEN remarks.last_at ELSE excluded.last_at END,
			rule = CASE WHEN remarks.last_at > excluded.last_at THEN remarks.rule ELSE excluded.rule END,
			pointer = CASE WHEN remarks.last_at > excluded.last_at THEN remarks.pointer ELSE excluded.pointer END`,
		m.Tenant, string(m.Kind), m.Name, m.Count, rows.Micros(m.First), rows.Micros(m.Last), m.Rule, m.Pointer,
		rows.Micros(m.First.Add(-m.Kind.Gap())))
}

// ListRemarks returns the remarks of a kind that are not over, by tenant and name. Without a tenant: of all.
func (db *DB) ListRemarks(ctx context.Context, kind model.RemarkKind, tenant string, now time.Time) ([]model.Remark,
	error) {
	return rows.Query(ctx, db.reads, func(r row) (m model.Remark, err error) {
		return m, r.Scan(&m.Tenant, &m.Kind, &m.Name, &m.Count, rows.Time(&m.First), rows.Time(&m.Last), &m.Rule,
			&m.Pointer)
	}, `SELECT tenant, kind, name, count, first_at, last_at, rule, pointer FROM remarks
		WHERE kind = $1 AND last_at >= $2 AND ($3 = '' OR tenant = $3) ORDER BY tenant, name`,
		string(kind), rows.Micros(now.Add(-kind.Gap())), tenant)
}

// DeleteRemarks deletes the remarks that are over, and returns how many.
func (tx *Tx) DeleteRemarks(now time.Time) (deleted int64, err error) {
	for _, kind := range model.RemarkKinds {
		n, err := tx.sql.Exec(`DELETE FROM remarks WHERE kind = $1 AND last_at < $2`, string(kind), rows.Micros(now.Add(-kind.Gap())))
		if err != nil {
			return deleted, err
		}
		deleted += n
	}
	return deleted, nil
}

func (tx *Tx) deleteRemarks(tenant string) error {
	return tx.sql.Run(`DELETE FROM remarks WHERE tenant = $1`, tenant)
}
