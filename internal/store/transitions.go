package store

import (
	"context"
	"math"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertTransition inserts that a job application entered a step.
func (tx *Tx) InsertTransition(t *model.Transition) error {
	return tx.sql.Run(`INSERT INTO transitions (id, tenant, application, step, name, category, entered_at, export)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		t.ID, t.Tenant, t.Application, t.Status.Step, t.Status.Name, t.Status.Category, rows.Micros(t.Status.EnteredAt),
		t.Export)
}

// ListTransitions lists what steps a job application entered, the last one first. before is the cursor: an id of a
// transition, 0 for the first page; next is that of the following page, 0 on the last one.
func (db *DB) ListTransitions(ctx context.Context, tenant, application string, before int64,
	limit int) ([]model.Transition, int64, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return rows.QueryPage(ctx, db.reads, func(r row) (t model.Transition, err error) {
		err = r.Scan(&t.ID, &t.Tenant, &t.Application, &t.Status.Step, &t.Status.Name, &t.Status.Category,
			rows.Time(&t.Status.EnteredAt), &t.Export)
		return t, err
	}, func(t model.Transition) int64 { return t.ID }, Page{Limit: limit}.Size(),
		`SELECT id, tenant, application, step, name, category, entered_at, export FROM transitions
		WHERE tenant = $1 AND application = $2 AND id < $3 ORDER BY id DESC`, tenant, application, before)
}
