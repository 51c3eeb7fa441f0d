package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
)

// selected are the conditions on an export e that a selection chooses it, after an ID. Exports are read in their order,
// by the index of their tenant: each is looked at once, however many are chosen.
func (db *DB) selected(s *hiring.Selection, after int64) conditions {
	var c conditions
	c.is("e.tenant =", s.Tenant)
	c.is("e.id >", max(after, hiring.FirstID(s.Since)-1))
	c.is("e.id <", hiring.FirstID(s.Until))
	c.where = append(c.where, "e.erased_at IS NULL", "NOT e.quarantined")
	c.args = append(c.args, s.Integration)
	integration := fmt.Sprintf("$%d", len(c.args))
	// One that waits for its workflow will be for all that its tenant has then.
	missing := `(e.fault <> '' OR e.dispatched_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ` +
		db.sql.Words("e.integrations", "w") + ` WHERE w.value = ` + integration + `))
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND d.integration = ` + integration + `)`
	outcomes := map[hiring.RedeliveryMode]string{
		hiring.RedeliverFailed: "'failed', 'expired'", hiring.RedeliverAll: "'delivered', 'failed', 'expired'",
	}
	ended := conditions{args: c.args}
	if s.Outcome != "" {
		ended.is("d.outcome =", string(s.Outcome))
	}
	if s.Class != "" {
		ended.is("d.fault =", string(s.Class))
	}
	if s.Status != 0 {
		ended.is("(SELECT a.status FROM attempts a WHERE a.delivery_id = d.id ORDER BY a.number DESC LIMIT 1) =", s.Status)
	}
	c.args = ended.args
	found := `EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND d.integration = ` + integration +
		` AND d.outcome IN (` + outcomes[s.Mode] + `) AND ` + latest
	for _, one := range ended.where {
		found += " AND " + one
	}
	found += ")"
	switch {
	case s.Mode == hiring.RedeliverMissing:
		c.where = append(c.where, missing)
	case s.Mode == hiring.RedeliverAll && len(ended.where) == 0:
		c.where = append(c.where, "("+found+" OR "+missing+")")
	default:
		c.where = append(c.where, found)
	}
	return c
}

// PreviewRedelivery counts what a selection chooses. mode is the document mode of its integration.
func (db *DB) PreviewRedelivery(ctx context.Context, s *hiring.Selection, mode hiring.DocumentMode,
	now time.Time) (hiring.RedeliveryPreview, error) {
	c := db.selected(s, 0)
	c.args = append(c.args, micros(now))
	ended := fmt.Sprintf("e.documents_till <= $%d", len(c.args))
	expired := `e.attachments > 0 AND EXISTS (SELECT 1 FROM documents x WHERE x.export_id = e.id AND x.state = 'given_up')`
	if mode == hiring.Passthrough {
		expired = "e.attachments > 0 AND " + ended
	}
	return queryOne(ctx, db, func(r row) (p hiring.RedeliveryPreview, err error) {
		return p, r.Scan(&p.Count, moment{&p.Oldest}, moment{&p.Newest}, &p.Expired)
	}, `SELECT count(*), min(e.received_at), max(e.received_at),
		COALESCE(sum(CASE WHEN e.origin = 'triggered' AND `+ended+` OR `+expired+` THEN 1 ELSE 0 END), 0)
		FROM exports e`+c.String(), c.args...)
}

// ListSelected lists the exports that a selection chooses after an ID, the oldest first.
func (db *DB) ListSelected(ctx context.Context, s *hiring.Selection, after int64, limit int) ([]*hiring.Export, error) {
	c := db.selected(s, after)
	c.args = append(c.args, limit)
	return query(ctx, db, scanExport, fmt.Sprintf(`SELECT %s FROM exports e%s ORDER BY e.id LIMIT $%d`,
		exportColumns, c.String(), len(c.args)), c.args...)
}

// LockSelected locks an export until the transaction ends, and returns it if a selection still chooses it.
func (tx *Tx) LockSelected(s *hiring.Selection, id int64) (*hiring.Export, bool, error) {
	if err := tx.lockExport(id); err != nil {
		return nil, false, err
	}
	c := tx.db.selected(s, id-1)
	c.is("e.id =", id)
	return first(queryTx(tx, scanExport, `SELECT `+exportColumns+` FROM exports e`+c.String(), c.args...))
}
