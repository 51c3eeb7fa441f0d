package store

import (
	"context"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// KeptRequests counts the requests with an Idempotency-Key that are kept.
func (db *DB) KeptRequests(ctx context.Context) (int, error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[int], `SELECT count(*) FROM idempotency`)
}
