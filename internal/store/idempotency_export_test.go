package store

import "context"

// KeptRequests counts the requests with an Idempotency-Key that are kept.
func (db *DB) KeptRequests(ctx context.Context) (int, error) {
	return queryOne(ctx, db, func(r row) (n int, err error) { err = r.Scan(&n); return n, err }, `SELECT count(*) FROM idempotency`)
}
