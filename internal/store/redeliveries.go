package store

import (
	"context"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// redeliveries are the jobs, without what became of the deliveries that they began.
var redeliveries = rows.Table[model.Redelivery]{
	Name: "redeliveries",
	Columns: `id, tenant, integration, since, until, mode, outcome, class,
	answered, attempts, rate, state, reason, total, skipped, after_id, created_at, updated_at, ended_at, begun_by`,
	Fields: func(j *model.Redelivery) []any {
		return []any{&j.ID, &j.Tenant, &j.Integration, rows.Time(&j.Since), rows.Time(&j.Until), &j.Mode, &j.Outcome,
			&j.Class, &j.Status, &j.Attempts, &j.Rate, &j.State, &j.Reason, &j.Total, &j.Skipped, &j.After, rows.Time(&j.CreatedAt),
			rows.Time(&j.UpdatedAt), rows.Time(&j.EndedAt), &j.BegunBy}
	}}

// InsertRedelivery adds a redelivery that has come to no export yet.
func (tx *Tx) InsertRedelivery(j *model.Redelivery) error {
	status := 0 // which gateways of an earlier release read
	if j.Attempts > 0 || j.Status != "" {
		status = -1
	}
	if first, last := j.Status.Range(); j.Attempts == 0 && first == last && first > 0 {
		status = first
	}
	return tx.sql.Run(`INSERT INTO redeliveries (`+redeliveries.Columns+`, status)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		j.ID, j.Tenant, j.Integration, rows.Micros(j.Since), rows.Micros(j.Until), string(j.Mode), string(j.Outcome),
		string(j.Class), string(j.Status), j.Attempts, j.Rate, string(j.State), j.Reason, j.Total, j.Skipped, j.After, rows.Micros(j.CreatedAt),
		rows.Micros(j.UpdatedAt), rows.Micros(j.EndedAt), j.BegunBy, status)
}

// Redelivery reads a redelivery, with what became of the deliveries that it began; ErrNotFound when there is none.
func (db *DB) Redelivery(ctx context.Context, id string) (*model.Redelivery, error) {
	j, err := redeliveries.Get(ctx, db.reads, `id = $1`, id)
	if err != nil {
		return nil, err
	}
	return j, db.countBegun(ctx, j)
}

// countBegun counts the deliveries that a redelivery began by what became of them.
func (db *DB) countBegun(ctx context.Context, j *model.Redelivery) error {
	counts, err := rows.QueryMap(ctx, db.reads, func(r row) (outcome model.Outcome, n int64, err error) {
		return outcome, n, r.Scan(&outcome, &n)
	}, `SELECT outcome, count(*) FROM deliveries WHERE redelivery = $1 GROUP BY outcome`, j.ID)
	for outcome, n := range counts {
		switch {
		case outcome == model.Delivered:
			j.Delivered += n
		case outcome.Final():
			j.Failed += n
		default:
			j.Waiting += n
		}
	}
	return err
}

// ListRedeliveries lists the redeliveries of some tenants, or of all when it is nil, the newest first, as Redelivery reads
// them.
func (db *DB) ListRedeliveries(ctx context.Context, tenants []string, p Page) ([]*model.Redelivery, string, error) {
	var c conditions
	switch {
	case len(tenants) == 1:
		c.is("tenant =", tenants[0])
	case tenants != nil: // few redeliveries are there: they are read in their order
		c.args = append(c.args, strings.Join(tenants, " "))
		c.where = append(c.where, "tenant || '' IN (SELECT each.value FROM "+db.sql.Words("$1", "each")+")")
	}
	if p.After != "" {
		c.is("id <", p.After)
	}
	page, next, err := rows.QueryPage(ctx, db.reads, redeliveries.Scan, func(j *model.Redelivery) string { return j.ID }, p.Size(),
		`SELECT `+redeliveries.Columns+` FROM redeliveries`+c.String()+` ORDER BY id DESC`, c.args...)
	for n := 0; n < len(page) && err == nil; n++ {
		err = db.countBegun(ctx, page[n])
	}
	return page, next, err
}

// ListRunningRedeliveries lists the IDs of the redeliveries that are running.
func (db *DB) ListRunningRedeliveries(ctx context.Context) ([]string, error) {
	return rows.Query(ctx, db.reads, rows.Value[string], `SELECT id FROM redeliveries WHERE state = 'running' ORDER BY id`)
}

// UpdateRedeliveryState changes the state of a redelivery, and says why. It reports false, and changes nothing, unless
// it has one of the states from. One that is finished has skipped what was counted and not begun.
func (tx *Tx) UpdateRedeliveryState(id string, to model.RedeliveryState, reason string, now time.Time,
	from ...model.RedeliveryState) (bool, error) {
	var endedAt time.Time
	if to.Ended() {
		endedAt = now
	}
	for _, state := range from {
		changed, err := tx.sql.Changed(`UPDATE redeliveries SET state = $1, reason = $2, updated_at = $3, ended_at = $4
			WHERE id = $5 AND state = $6`, string(to), reason, rows.Micros(now), rows.Micros(endedAt), id, string(state))
		if changed && err == nil && to == model.RedeliveryFinished {
			const rest = `total - (SELECT count(*) FROM deliveries d WHERE d.redelivery = $1)`
			err = tx.sql.Run(`UPDATE redeliveries SET skipped = `+rest+` WHERE id = $1 AND skipped < `+rest, id)
		}
		if changed || err != nil {
			return changed, err
		}
	}
	return false, nil
}

// AdvanceRedelivery notes the last export that a running redelivery came to, and whether it skipped that. It reports
// false, and changes nothing, when the redelivery is not running any more, or came to that export before.
func (tx *Tx) AdvanceRedelivery(id string, export int64, skipped bool, now time.Time) (bool, error) {
	n := 0
	if skipped {
		n = 1
	}
	return tx.sql.Changed(`UPDATE redeliveries SET after_id = $1, skipped = skipped + $2, updated_at = $3
		WHERE id = $4 AND state = 'running' AND after_id < $1`, export, n, rows.Micros(now), id)
}

// MarkRedelivery notes which redelivery began a delivery, and who asked for that.
func (tx *Tx) MarkRedelivery(id string, export int64, integration string, round int) error {
	return tx.sql.Run(`UPDATE deliveries SET redelivery = $1,
		begun_by = coalesce((SELECT begun_by FROM redeliveries WHERE id = $1), '')
		WHERE export_id = $2 AND integration = $3 AND round = $4`, id, export, integration, round)
}
