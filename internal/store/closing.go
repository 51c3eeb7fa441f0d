package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// CloseJobs closes the jobs whose time has come, up to a page of them, and returns how many.
func (db *DB) CloseJobs(ctx context.Context, now time.Time) (closed int, err error) {
	due, err := rows.Query(ctx, db.reads, scanResourceRef, `SELECT tenant, id FROM jobs WHERE closes_at > 0 AND closes_at <= $1
		ORDER BY closes_at LIMIT $2`, rows.Micros(now), secretsAtOnce)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	err = db.Write(ctx, func(tx *Tx) error {
		closed = 0
		for _, ref := range due {
			j, ok, err := tx.Job(ref.tenant, ref.id)
			if err != nil {
				return err
			}
			if !ok || j.IsOpen(now) {
				continue
			}
			j.Closed = true
			if err := tx.UpsertJob(j, now); err != nil {
				return err
			}
			closed++
		}
		return nil
	})
	return closed, err
}
