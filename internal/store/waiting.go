package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// Waiting is how many deliveries to an integration are not final, and since when the oldest waits: since the export
// came, or since it was redelivered.
type Waiting struct {
	Count int64
	Held  int64 // of these, parked or not, without those of exports in quarantine
	// Overdue is how many of them should have had their next step a minute ago, by what the store says. What waits for
	// Temporal or is held is not counted, and what waits at the gate of its integration is.
	Overdue int64
	Oldest  time.Time
	Ends    time.Time // when the first of them is given up; zero: never
}

// countedExports is of how many unsettled exports the deliveries are counted when somebody asks. Of more, they were
// counted by the node that settles.
const countedExports = 2000

// overdueAfter is how long after its next step was due a delivery counts as overdue.
const overdueAfter = time.Minute

// CountUndelivered counts the deliveries to each integration that are not final. While more than 2,000 exports are
// unsettled, it returns what UpdateWaiting stored last.
func (db *DB) CountUndelivered(ctx context.Context, now time.Time) (map[model.Place]Waiting, error) {
	more, err := rows.Query(ctx, db.reads, rows.Value[int64],
		`SELECT id FROM exports WHERE unsettled ORDER BY id LIMIT 1 OFFSET $1`, countedExports)
	switch {
	case err != nil:
		return nil, err
	case len(more) > 0:
		return rows.QueryMap(ctx, db.reads, scanWaiting, `SELECT tenant, integration, deliveries, held, overdue, oldest, ends FROM waiting`)
	}
	return db.CountUndeliveredOf(ctx, 0, math.MaxInt64, now)
}

func scanWaiting(r row) (at model.Place, w Waiting, err error) {
	err = r.Scan(&at.Tenant, &at.Integration, &w.Count, &w.Held, &w.Overdue, rows.Time(&w.Oldest), rows.Time(&w.Ends))
	return at, w, err
}

// CountUndeliveredOf counts as CountUndelivered does, of the first 2,000 unsettled exports whose IDs are above after, and
// at most until.
func (db *DB) CountUndeliveredOf(ctx context.Context, after, until int64, now time.Time) (map[model.Place]Waiting, error) {
	// A cross join has SQLite look up the deliveries of each export, rather than all open ones.
	return rows.QueryMap(ctx, db.reads, scanWaiting, fmt.Sprintf(`WITH page AS MATERIALIZED (SELECT id, origin, received_at, deliver_till, dispatched_at,
			quarantined, attachments, documents_till FROM exports WHERE unsettled AND id > $1 AND id <= $2 ORDER BY id LIMIT %d)
		SELECT tenant, integration, count(*), CAST(sum(held) AS BIGINT), CAST(sum(CASE WHEN due < $3 THEN 1 ELSE 0 END) AS BIGINT),
			min(since), min(ends) FROM (
		SELECT d.tenant, d.integration, CASE WHEN d.held_since IS NOT NULL AND NOT e.quarantined THEN 1 ELSE 0 END AS held,
			CASE WHEN d.outcome <> 'held' AND e.dispatched_at IS NOT NULL THEN coalesce(d.next_at, `+firstStep+`) END AS due,
			CASE d.round WHEN 0 THEN e.received_at ELSE d.created_at END AS since,
			CASE WHEN d.outcome <> 'held' AND NOT e.quarantined OR e.origin <> 'received' THEN e.deliver_till END AS ends
			FROM page e CROSS JOIN deliveries d WHERE d.export_id = e.id AND `, countedExports)+open+`
		) waiting GROUP BY tenant, integration`, after, until, rows.Micros(now.Add(-overdueAfter)))
}

// UpdateWaiting stores what waits for each integration. before is what it stored last; nil: it is not known.
func (tx *Tx) UpdateWaiting(before, now map[model.Place]Waiting) error {
	if before == nil {
		if err := tx.sql.Run(`DELETE FROM waiting`); err != nil {
			return err
		}
	}
	for at := range before {
		if _, still := now[at]; !still {
			err := tx.sql.Run(`DELETE FROM waiting WHERE tenant = $1 AND integration = $2`, at.Tenant, at.Integration)
			if err != nil {
				return err
			}
		}
	}
	for at, w := range now {
		if w == before[at] {
			continue
		}
		err := tx.sql.Run(`INSERT INTO waiting (tenant, integration, deliveries, held, overdue, oldest, ends)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, integration) DO UPDATE SET
			deliveries = excluded.deliveries, held = excluded.held,
			overdue = excluded.overdue, oldest = excluded.oldest, ends = excluded.ends`,
			at.Tenant, at.Integration, w.Count, w.Held, w.Overdue, rows.Micros(w.Oldest), rows.Micros(w.Ends))
		if err != nil {
			return err
		}
	}
	return nil
}

// firstStep is when the first attempt of the current round of an export e should be made; null: it has no workflow yet. At
// once or, where it waits for documents, when they are here, and at their end at the latest. When they came is not
// stored: a workflow finds that within two minutes.
var firstStep = fmt.Sprintf(`CASE WHEN e.dispatched_at IS NULL OR e.attachments = 0 THEN e.dispatched_at
	WHEN e.attachments > (SELECT count(*) FROM documents o WHERE o.export_id = e.id AND o.state IN ('fetched', 'given_up'))
		THEN e.documents_till
	ELSE e.dispatched_at + %d END`, (2 * time.Minute).Microseconds())

// Add returns the sum of both.
func (w Waiting) Add(other Waiting) Waiting {
	if w.Count == 0 || other.Count > 0 && other.Oldest.Before(w.Oldest) {
		w.Oldest = other.Oldest
	}
	if w.Ends.IsZero() || !other.Ends.IsZero() && other.Ends.Before(w.Ends) {
		w.Ends = other.Ends
	}
	w.Count += other.Count
	w.Held += other.Held
	w.Overdue += other.Overdue
	return w
}
