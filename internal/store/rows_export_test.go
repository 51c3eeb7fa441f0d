package store

import (
	"context"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// CountRows counts the rows of a table.
func (db *DB) CountRows(ctx context.Context, table string) (int, error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[int], `SELECT count(*) FROM `+table)
}
