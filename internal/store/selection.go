package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// inRange are the conditions on an export e that it is in the range of a selection, after an ID.
func inRange(s *model.Selection, after int64) (c conditions) {
	c.is("e.tenant =", s.Tenant)
	c.is("e.id >", max(after, model.FirstID(s.Since)-1))
	c.is("e.id <", model.FirstID(s.Until))
	return c
}

// selected are the conditions on an export e that a selection chooses it, after an ID. Exports are read in their order,
// by the index of their tenant: each is looked at once, however many are chosen.
func (db *DB) selected(s *model.Selection, after int64) conditions {
	c := inRange(s, after)
	c.where = append(c.where, "e.erased_at IS NULL", "NOT e.quarantined")
	c.args = append(c.args, s.Integration)
	integration := fmt.Sprintf("$%d", len(c.args))
	missing := `(e.fault <> '' OR e.dispatched_at IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND d.integration = ` + integration + `)`
	outcomes := map[model.RedeliveryMode]string{
		model.RedeliverFailed: "'failed', 'expired'", model.RedeliverAll: "'delivered', 'failed', 'expired'",
	}
	ended := conditions{args: c.args}
	if s.Outcome != "" {
		ended.is("d.outcome =", string(s.Outcome))
	}
	if s.Class != "" {
		ended.is("d.fault =", string(s.Class))
	}
	if s.Status != "" {
		first, last := s.Status.Range()
		const status = "(SELECT a.status FROM attempts a WHERE a.delivery_id = d.id ORDER BY a.number DESC LIMIT 1)"
		ended.is(status+" >=", first)
		ended.is(status+" <=", last)
	}
	if s.Attempts > 0 {
		ended.is("d.attempts >=", s.Attempts)
	}
	c.args = ended.args
	found := `EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND d.integration = ` + integration +
		` AND d.outcome || '' IN (` + outcomes[s.Mode] + `) AND ` + latest // keeps from the index of all that ended badly
	for _, condition := range ended.where {
		found += " AND " + condition
	}
	found += ")"
	switch {
	case s.Mode == model.RedeliverMissing:
		c.where = append(c.where, missing)
	case s.Mode == model.RedeliverAll && len(ended.where) == 0:
		c.where = append(c.where, "("+found+" OR "+missing+")")
	default:
		c.where = append(c.where, found)
	}
	return c
}

// PreviewRedelivery counts what a selection chooses, and what it leaves out of its range. mode is the document mode of
// its integration.
func (db *DB) PreviewRedelivery(ctx context.Context, s *model.Selection, mode model.DocumentMode,
	now time.Time) (model.RedeliveryPreview, error) {
	p, err := db.countSelected(ctx, s, mode, now)
	if err == nil {
		p.LeftOut, err = db.countLeftOut(ctx, s)
	}
	return p, err
}

func (db *DB) countSelected(ctx context.Context, s *model.Selection, mode model.DocumentMode,
	now time.Time) (model.RedeliveryPreview, error) {
	c := db.selected(s, 0)
	c.args = append(c.args, rows.Micros(now), s.Integration)
	ended, integration := fmt.Sprintf("e.documents_till <= $%d", len(c.args)-1), fmt.Sprintf("$%d", len(c.args))
	expired := `e.attachments > 0 AND EXISTS (SELECT 1 FROM documents x WHERE x.export_id = e.id AND x.state = 'given_up')`
	if mode == model.Passthrough {
		expired = "e.attachments > 0 AND " + ended
	}
	return rows.QueryOne(ctx, db.reads, func(r row) (p model.RedeliveryPreview, err error) {
		return p, r.Scan(&p.Count, rows.Time(&p.Oldest), rows.Time(&p.Newest), &p.Expired, &p.Received)
	}, `SELECT count(*), min(e.received_at), max(e.received_at),
		COALESCE(sum(CASE WHEN e.origin = 'triggered' AND `+ended+` OR `+expired+` THEN 1 ELSE 0 END), 0),
		COALESCE(sum(CASE WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id
			AND d.integration = `+integration+` AND d.outcome = 'delivered') THEN 1 ELSE 0 END), 0)
		FROM exports e`+c.String(), c.args...)
}

// countLeftOut counts what a selection leaves out of its range, by the reason.
func (db *DB) countLeftOut(ctx context.Context, s *model.Selection) ([]model.LeftOut, error) {
	c, chosen := inRange(s, 0), db.selected(s, 0)
	others := "NOT (" + strings.Join(chosen.where[len(c.where):], " AND ") + ")"
	c.where, c.args = append(c.where, others), append(chosen.args, s.Integration)
	integration := fmt.Sprintf("$%d", len(c.args))
	stands := `(SELECT d.outcome FROM deliveries d WHERE d.export_id = e.id AND d.integration = ` + integration +
		` AND ` + latest + `)`
	counts, err := rows.QueryMap(ctx, db.reads, func(r row) (why model.LeftOutReason, n int64, err error) {
		return why, n, r.Scan(&why, &n)
	}, `SELECT CASE WHEN erased THEN 'erased' WHEN quarantined THEN 'quarantined' WHEN stands = 'delivered' THEN 'received'
			WHEN stands IN ('failed', 'expired') THEN 'failed' WHEN stands = 'held' THEN 'held'
			WHEN stands IS NOT NULL THEN 'under_way' WHEN waits THEN 'waiting' ELSE 'missing' END AS why, count(*) FROM (
		SELECT e.erased_at IS NOT NULL AS erased, e.quarantined AS quarantined, `+stands+` AS stands,
			`+undispatched+` AS waits
		FROM exports e`+c.String()+`) left_out GROUP BY why`, c.args...)
	if err != nil {
		return nil, err
	}
	all := []model.LeftOut{}
	for _, why := range model.LeftOutReasons {
		if n := counts[why]; n > 0 {
			all = append(all, model.LeftOut{Why: why, Count: n})
		}
	}
	return all, nil
}

// ListSelected lists the exports that a selection chooses after an ID, the oldest first.
func (db *DB) ListSelected(ctx context.Context, s *model.Selection, after int64, limit int) ([]*model.Export, error) {
	c := db.selected(s, after)
	c.args = append(c.args, limit)
	return rows.Query(ctx, db.reads, scanExport, fmt.Sprintf(`SELECT %s FROM exports e%s ORDER BY e.id LIMIT $%d`,
		exportColumns, c.String(), len(c.args)), c.args...)
}

// LockSelected locks an export until the transaction ends, and returns it if a selection still chooses it.
func (tx *Tx) LockSelected(s *model.Selection, id int64) (*model.Export, bool, error) {
	if err := tx.lockExport(id); err != nil {
		return nil, false, err
	}
	c := tx.db.selected(s, id-1)
	c.is("e.id =", id)
	return rows.First(rows.QueryTx(tx.sql, scanExport, `SELECT `+exportColumns+` FROM exports e`+c.String(), c.args...))
}
