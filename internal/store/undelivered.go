package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// open is the condition on a delivery d that it is the last one at its integration, and not final.
const open = `d.outcome IN ('pending', 'retrying', 'held') AND ` + latest

// missing is the condition on an integration w of an export's round that no delivery to it is stored yet.
const missing = `NOT EXISTS (SELECT 1 FROM deliveries m
	WHERE m.export_id = e.id AND m.integration = w.value AND m.round = e.round)`

// undelivered is the condition on an export e that it waits for Temporal, has a delivery that is not final, or has an
// integration without a delivery. integration is the argument that names the only one that counts; empty: all do.
func (db *DB) undelivered(integration string) string {
	named, ofDelivery, ofWord := "", "", ""
	words := db.sql.Words("e.integrations", "w")
	if integration != "" {
		ofDelivery, ofWord = " AND d.integration = "+integration, " AND w.value = "+integration
		// one without integrations is for all that its tenant has when Temporal gets it
		named = ` AND (e.integrations = '' OR EXISTS (SELECT 1 FROM ` + words + ` WHERE w.value = ` + integration + `))`
	}
	// Counted, because PostgreSQL makes a hash table of all open deliveries for an EXISTS.
	return `(` + undispatched + named + `
		OR (SELECT count(*) FROM deliveries d WHERE d.export_id = e.id AND ` + open + ofDelivery + `) > 0
		OR e.dispatched_at IS NOT NULL AND EXISTS (SELECT 1 FROM ` + words + ` WHERE ` + missing + ofWord + `))`
}

// undelivered adds the condition on an export e that it is not delivered yet, to an integration if that is named.
func (c *conditions) undelivered(db *DB, integration string) {
	if integration != "" {
		c.args = append(c.args, integration)
		integration = fmt.Sprintf("$%d", len(c.args))
	}
	c.where = append(c.where, "e.unsettled", db.undelivered(integration))
}

// ListSettled lists those of the next MaxPage unsettled exports after an ID of which every delivery is final. next is
// the ID to continue after, 0 at the end.
func (db *DB) ListSettled(ctx context.Context, after int64) (settled []int64, next int64, err error) {
	type found struct {
		id          int64
		undelivered bool
	}
	// Materialized, because PostgreSQL would look at all unsettled exports for one page of them.
	page, err := rows.Query(ctx, db.reads, func(r row) (f found, err error) { return f, r.Scan(&f.id, &f.undelivered) },
		`WITH page AS MATERIALIZED (SELECT id, dispatched_at, fault, round, integrations FROM exports
			WHERE unsettled AND id > $1 ORDER BY id LIMIT $2)
		SELECT e.id, `+db.undelivered("")+` FROM page e ORDER BY e.id`,
		after, MaxPage)
	for _, f := range page {
		if !f.undelivered {
			settled = append(settled, f.id)
		}
	}
	if len(page) == MaxPage {
		next = page[len(page)-1].id
	}
	return settled, next, err
}

// SettleExports notes that every delivery of some exports, at most MaxPage, is final. It leaves out those of which that
// is not so any more.
func (tx *Tx) SettleExports(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	statement, args := tx.settle(ids)
	return tx.sql.Run(statement, args...)
}

// settle is the statement of SettleExports.
func (tx *Tx) settle(ids []int64) (statement string, args []any) {
	in, args := oneOf(ids)
	return fmt.Sprintf(`UPDATE exports SET unsettled = $%d WHERE id IN (SELECT e.id FROM exports e
		WHERE e.id IN (%s) AND NOT %s ORDER BY e.id%s)`,
		len(args)+1, in, tx.db.undelivered(""), tx.sql.SkipLocked()), append(args, false)
}

// Waiting is how many deliveries to an integration are not final, and since when the oldest waits: since the export
// came, or since it was redelivered.
type Waiting struct {
	Count  int64
	Oldest time.Time
	Ends   time.Time // when the first of them is given up; zero: never
}

// CountUndelivered counts the deliveries to each integration that are not final. What waits for Temporal and is for all
// integrations that its tenant has then is counted at the place without an integration.
func (db *DB) CountUndelivered(ctx context.Context) (map[model.Place]Waiting, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (at model.Place, w Waiting, err error) {
		err = r.Scan(&at.Tenant, &at.Integration, &w.Count, rows.Time(&w.Oldest), rows.Time(&w.Ends))
		return at, w, err
	}, `SELECT tenant, integration, count(*), min(since), min(ends) FROM (
		SELECT e.tenant, d.integration, CASE d.round WHEN 0 THEN e.received_at ELSE d.created_at END AS since,
			CASE WHEN d.outcome <> 'held' OR e.origin <> 'received' THEN e.deliver_till END AS ends
			FROM exports e JOIN deliveries d ON d.export_id = e.id WHERE e.unsettled AND `+open+`
		UNION ALL SELECT e.tenant, w.value, `+roundSince+`, `+ends+` FROM exports e, `+db.sql.Words("e.integrations", "w")+`
			WHERE e.unsettled AND e.fault = '' AND `+missing+`
		UNION ALL SELECT e.tenant, '', `+roundSince+`, `+ends+` FROM exports e
			WHERE e.unsettled AND e.integrations = '' AND `+undispatched+`
		) waiting GROUP BY tenant, integration`)
}

// roundSince is since when the current round of an export e waits.
const roundSince = `CASE e.round WHEN 0 THEN e.received_at ELSE coalesce(e.dispatched_at, e.dispatch_after) END`

// ends selects when deliveries of an export e that are not stored yet are given up; null: never, because deliveries in
// quarantine are held.
const ends = `CASE WHEN NOT e.quarantined THEN e.deliver_till END`

// Add returns the sum of both.
func (w Waiting) Add(other Waiting) Waiting {
	if w.Count == 0 || other.Count > 0 && other.Oldest.Before(w.Oldest) {
		w.Oldest = other.Oldest
	}
	if w.Ends.IsZero() || !other.Ends.IsZero() && other.Ends.Before(w.Ends) {
		w.Ends = other.Ends
	}
	w.Count += other.Count
	return w
}
