package store

import (
	"context"
	"math"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// ListOverdue lists the exports after an ID that have a delivery of an outcome, in its last round and not parked, for
// which something should have happened before a time: its next attempt, as planned or when somebody asked for it, or, of
// what was never attempted, anything since its workflow was started. A held delivery is overdue only once it should have been
// parked, hold after it was held; of an export that was triggered here, only after the export's end.
func (db *DB) ListOverdue(ctx context.Context, outcome model.Outcome, before time.Time, hold time.Duration, after int64,
	limit int) ([]int64, error) {
	return rows.Query(ctx, db.reads, rows.Value[int64], `SELECT DISTINCT d.export_id FROM deliveries d
		JOIN exports e ON e.id = d.export_id
		WHERE d.outcome = $1 AND d.export_id > $2 AND CASE WHEN d.outcome = 'retrying'
			AND d.asked_at < d.next_at THEN d.asked_at ELSE COALESCE(d.next_at, d.held_since + $5,
				CASE WHEN e.dispatched_at > d.created_at THEN e.dispatched_at ELSE d.created_at END) END < $3
		AND NOT d.parked AND (d.outcome <> 'pending' OR e.dispatched_at IS NOT NULL)
			AND (d.outcome <> 'held' OR e.origin = 'received' OR e.deliver_till < $3) AND `+latest+`
		ORDER BY d.export_id LIMIT $4`, string(outcome), after, rows.Micros(before), limit, hold.Microseconds())
}

// unfinishedPage is how many exports are looked at for those that are not finished: few of them, or none, are.
const unfinishedPage = 1000

// ListUnfinished lists those of the next thousand exports after an ID that were dispatched before a time, and have
// documents that are neither fetched nor given up. next is the ID to continue after, 0 at the end.
func (db *DB) ListUnfinished(ctx context.Context, after int64, before time.Time) (found []int64, next int64, err error) {
	last, err := rows.Query(ctx, db.reads, rows.Value[int64],
		`SELECT id FROM exports WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2`, after, unfinishedPage-1)
	if err != nil {
		return nil, 0, err
	}
	until := int64(math.MaxInt64) // the clock may have gone back, and then IDs are of a later time than their rows
	if len(last) == 1 {
		next, until = last[0], last[0]
	}
	found, err = rows.Query(ctx, db.reads, rows.Value[int64], `SELECT e.id FROM exports e
		WHERE e.id > $1 AND e.id <= $2 AND e.dispatched_at < $3
			AND e.attachments > 0 AND e.origin = 'received' AND e.attachments >
				(SELECT count(*) FROM documents d WHERE d.export_id = e.id AND d.state <> 'fetching')
		ORDER BY e.id`, after, until, rows.Micros(before))
	return found, next, err
}
