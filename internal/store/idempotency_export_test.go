package store

import "context"

// KeptRequests counts the requests with an Idempotency-Key that are kept.
func (db *DB) KeptRequests(ctx context.Context) (int, error) {
	return queryOne(ctx, db, scanned[int], `SELECT count(*) FROM idempotency`)
}
