package store

import (
	"context"
	"fmt"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// open is the condition on a delivery d that it is the last one at its integration, and not final.
const open = `d.outcome IN ('pending', 'retrying', 'held') AND ` + latest

// missing is the condition on an integration w of an export's round that no delivery to it is stored yet.
const missing = `NOT EXISTS (SELECT 1 FROM deliveries m
	WHERE m.export_id = e.id AND m.integration = w.value AND m.round = e.round)`

// undelivered is the condition on an export e that it waits for Temporal, has a fault, has a delivery that is not final, or
// has an integration without a delivery. integration is the argument that names the only one that counts; empty: all do.
func (db *DB) undelivered(integration string) string {
	named, ofDelivery, ofWord := "", "", ""
	words := db.sql.Words("e.integrations", "w")
	if integration != "" {
		ofDelivery, ofWord = " AND d.integration = "+integration, " AND w.value = "+integration
		// one without integrations is for all that its tenant has when Temporal gets it
		named = ` AND (e.integrations = '' OR EXISTS (SELECT 1 FROM ` + words + ` WHERE w.value = ` + integration + `))`
	}
	// Counted, because PostgreSQL makes a hash table of all open deliveries for an EXISTS.
	return `((e.dispatched_at IS NULL OR e.fault <> '') AND (e.fault = '' OR e.erased_at IS NULL)` + named + `
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
		`WITH page AS MATERIALIZED (SELECT id, dispatched_at, fault, erased_at, round, integrations FROM exports
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
