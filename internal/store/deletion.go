package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// deletable is the condition on an export e that nothing more is to be done with it, and nothing was since $1: it is
// finished, or was erased on request.
const deletable = `(e.erased_at < $1 OR ` + finished + `) AND ` + quiet

// ListDeletable lists the exports that nothing was done with since before, among the next thousand after an ID.
func (db *DB) ListDeletable(ctx context.Context, after int64, before, now time.Time) (Due, error) {
	return db.listDue(ctx, "exports e", "e.id", deletable, after, before, now)
}

// DeleteExports deletes exports with all that is stored of them: an export that comes under the same UUID is a new one.
// Files that no other row references become unclaimed uploads. It returns those that it deleted; see Erase.
func (tx *Tx) DeleteExports(ids []int64, before, now time.Time) (deleted []int64, err error) {
	deleted, err = tx.lockDue(ids, deletable, before, now)
	if err != nil || len(deleted) == 0 {
		return nil, err
	}
	if err := tx.releaseFiles(deleted, now); err != nil {
		return nil, err
	}
	in, args := oneOf(deleted)
	return deleted, tx.sql.RunAll(deletions(in), args...)
}

// deletions are the statements that delete the rows of exports, by the placeholders of their IDs.
func deletions(in string) []string {
	in = `(` + in + `)`
	return []string{
		`DELETE FROM unkeyed_bodies WHERE (tenant, sha256, key) IN (SELECT tenant, sha256, key FROM exports
			WHERE id IN ` + in + ` AND NOT keyed)`,
		`DELETE FROM export_bodies WHERE export_id IN ` + in,
		`DELETE FROM outgoing_bodies WHERE export_id IN ` + in,
		`DELETE FROM document_links WHERE document_id IN (SELECT id FROM documents WHERE export_id IN ` + in + `)`,
		`DELETE FROM documents WHERE export_id IN ` + in,
		`DELETE FROM attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE export_id IN ` + in + `)`,
		`DELETE FROM deliveries WHERE export_id IN ` + in,
		`DELETE FROM export_triggers WHERE export_id IN ` + in,
		`DELETE FROM exports WHERE id IN ` + in,
	}
}

const (
	deleteRedeliveries = `DELETE FROM redeliveries WHERE id IN (SELECT r.id FROM redeliveries r WHERE r.ended_at < $1
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.redelivery = r.id) ORDER BY r.ended_at LIMIT 500)`
	deleteAudit = `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY at, id LIMIT 500)`
)

// DeleteRedeliveries deletes up to 500 redeliveries of ranges that ended before a time, the oldest first, and returns
// how many. One stays for as long as a delivery that it began.
func (tx *Tx) DeleteRedeliveries(before time.Time) (int64, error) {
	return tx.sql.Exec(deleteRedeliveries, rows.Micros(before))
}

// DeleteAudit deletes up to 500 entries of the audit from before a time, the oldest first, and returns how many.
func (tx *Tx) DeleteAudit(before time.Time) (int64, error) {
	return tx.sql.Exec(deleteAudit, rows.Micros(before))
}
