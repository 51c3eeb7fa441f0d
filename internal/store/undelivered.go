package store

import (
	"context"
	"fmt"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// open is the condition on a delivery d that it is the last one at its integration, and not final.
const open = `d.outcome IN ('pending', 'retrying', 'held') AND ` + latest

// undelivered is the condition on an export e that it waits for Temporal, has a fault, or has a delivery that is not final.
// integration is the argument that names the only one that counts; empty: all do.
func undelivered(integration string) string {
	waits, atIntegration := `e.dispatched_at IS NULL OR e.fault <> ''`, ""
	if integration != "" {
		atIntegration = " AND d.integration = " + integration
		waits = `e.fault <> '' AND EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND d.round = e.round` + atIntegration + `)`
	}
	// Counted, because PostgreSQL makes a hash table of all open deliveries for an EXISTS.
	return `((` + waits + `) AND (e.fault = '' OR e.erased_at IS NULL)
		OR (SELECT count(*) FROM deliveries d WHERE d.export_id = e.id AND ` + open + atIntegration + `) > 0)`
}

// undelivered adds the condition on an unsettled export e that it is not delivered yet, to an integration if that is named.
func (c *conditions) undelivered(integration string) {
	if integration != "" {
		c.args = append(c.args, integration)
		integration = fmt.Sprintf("$%d", len(c.args))
	}
	c.where = append(c.where, undelivered(integration))
}

// incomplete is the condition on an export e that deliveries of its round are not there: a gateway of an earlier version,
// which inserts each with its first attempt, accepted it or began its round.
const incomplete = `(e.erased_at IS NULL AND e.fault = '' AND (SELECT count(*) FROM deliveries d
	WHERE d.export_id = e.id AND d.round = e.round) < length(e.integrations) - length(replace(e.integrations, ' ', '')) + 1
	AND (e.integrations <> '' OR e.dispatched_at IS NULL))`

// Unsettled is a page of the unsettled exports, as IDs.
type Unsettled struct {
	Settled    []int64 // of these every delivery is final
	Incomplete []int64 // a gateway of an earlier version did not insert all of their deliveries
	Next       int64   // the ID to continue after; 0 at the end
}

// LookUnsettled looks at the next MaxPage unsettled exports after an ID.
func (db *DB) LookUnsettled(ctx context.Context, after int64) (u Unsettled, err error) {
	type found struct {
		id                      int64
		undelivered, incomplete bool
	}
	// Materialized, because PostgreSQL would look at all unsettled exports for one page of them.
	page, err := rows.Query(ctx, db.reads, func(r row) (f found, err error) {
		return f, r.Scan(&f.id, &f.undelivered, &f.incomplete)
	}, `WITH page AS MATERIALIZED (SELECT id, dispatched_at, fault, erased_at, round, integrations FROM exports
			WHERE unsettled AND id > $1 ORDER BY id LIMIT $2)
		SELECT e.id, `+undelivered("")+`, `+incomplete+` FROM page e ORDER BY e.id`,
		after, MaxPage)
	for _, f := range page {
		switch {
		case f.incomplete:
			u.Incomplete = append(u.Incomplete, f.id)
		case !f.undelivered:
			u.Settled = append(u.Settled, f.id)
		}
	}
	if len(page) == MaxPage {
		u.Next = page[len(page)-1].id
	}
	return u, err
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
		WHERE e.id IN (%s) AND NOT %s AND NOT %s ORDER BY e.id%s)`,
		len(args)+1, in, undelivered(""), incomplete, tx.sql.SkipLocked()), append(args, false)
}
