package store

import (
	"context"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertExportTrigger inserts what an export was triggered for.
func (tx *Tx) InsertExportTrigger(e *model.Export, t model.ExportTrigger) error {
	return tx.sql.Run(`INSERT INTO export_triggers (export_id, tenant, application, step) VALUES ($1, $2, $3, $4)`,
		e.ID, e.Tenant, t.Application, t.Step)
}

// ListExportTriggers reads what exports were triggered for, by their IDs; those that are about no job application are left
// out.
func (db *DB) ListExportTriggers(ctx context.Context, exports []int64) (map[int64]model.ExportTrigger, error) {
	if len(exports) == 0 {
		return nil, nil
	}
	in, args := oneOf(exports)
	return rows.QueryMap(ctx, db.reads, func(r row) (id int64, t model.ExportTrigger, err error) {
		err = r.Scan(&id, &t.Application, &t.Step)
		return id, t, err
	}, `SELECT export_id, application, step FROM export_triggers WHERE export_id IN (`+in+`)`, args...)
}
