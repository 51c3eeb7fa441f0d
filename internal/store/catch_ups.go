package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// catchUps are the last catch-ups of all integrations.
var catchUps = rows.Table[model.CatchUp]{
	Name: "catch_ups",
	Columns: `tenant, integration, began_at, asked, after_id, received, failed, reason,
	ended_at, before_id`,
	Fields: func(c *model.CatchUp) []any {
		return []any{&c.Tenant, &c.Integration, rows.Time(&c.BeganAt), &c.Asked, &c.After, &c.Received, &c.Failed,
			&c.Reason, rows.Time(&c.EndedAt), &c.Before}
	}}

// CatchUp reads the last catch-up of an integration; ErrNotFound when there was none.
func (db *DB) CatchUp(ctx context.Context, at model.Place) (*model.CatchUp, error) {
	return catchUps.Get(ctx, db.reads, `tenant = $1 AND integration = $2`, at.Tenant, at.Integration)
}

// waits is the condition on a delivery d that it waits for its next attempt at an integration, and was not attempted
// since a time: $1, $2 and $3. Of an export in quarantine none does (see notQuarantined).
const waits = `d.tenant = $1 AND d.integration = $2 AND d.outcome = 'retrying' AND d.updated_at <= $3
	AND NOT (SELECT e.quarantined FROM exports e WHERE e.id = d.export_id) AND ` + latest

// CountWaiting counts the deliveries that wait for their next attempt at an integration and were not attempted since a
// time. more says that there are more than MaxCounted, which it returns then.
func (db *DB) CountWaiting(ctx context.Context, at model.Place, since time.Time) (n int64, more bool, err error) {
	n, err = rows.QueryOne(ctx, db.reads, rows.Value[int64],
		`SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE `+waits+` LIMIT $4) counted`,
		at.Tenant, at.Integration, rows.Micros(since), MaxCounted+1)
	return min(n, MaxCounted), n > MaxCounted, err
}

// BeginCatchUp begins a catch-up in the place of the last one of its integration. Until till no other node claims it.
// It reports false, and begins none, when nobody asked for it and the last one is running, or began after a time.
func (tx *Tx) BeginCatchUp(c *model.CatchUp, before, till time.Time) (bool, error) {
	return tx.sql.Changed(beginCatchUp, c.Tenant, c.Integration, rows.Micros(c.BeganAt), c.Asked, c.Before, rows.Micros(till),
		rows.Micros(before))
}

var beginCatchUp = `INSERT INTO catch_ups (` + catchUps.Columns + `, claimed_till)
	VALUES ($1, $2, $3, $4, 0, 0, 0, '', NULL, $5, $6)
	ON CONFLICT (tenant, integration) DO UPDATE SET began_at = excluded.began_at, asked = excluded.asked,
		after_id = 0, received = 0, failed = 0, reason = '', ended_at = NULL, before_id = excluded.before_id,
		claimed_till = excluded.claimed_till
		WHERE excluded.asked OR catch_ups.ended_at IS NOT NULL AND catch_ups.began_at <= $7`

// AskCatchUp begins a catch-up that somebody asked for, in the place of the last one of its integration. A node claims it from
// then on.
func (tx *Tx) AskCatchUp(c *model.CatchUp) error {
	return tx.sql.Run(beginCatchUp, c.Tenant, c.Integration, rows.Micros(c.BeganAt), true, c.Before, rows.Micros(c.BeganAt), 0)
}

// ListAskedCatchUps reads the last catch-ups of integrations, of those that somebody asked for.
func (db *DB) ListAskedCatchUps(ctx context.Context) (map[model.Place]*model.CatchUp, error) {
	all, err := rows.Query(ctx, db.reads, catchUps.Scan, `SELECT `+catchUps.Columns+` FROM catch_ups WHERE asked`)
	of := map[model.Place]*model.CatchUp{}
	for _, c := range all {
		of[c.Place] = c
	}
	return of, err
}

// ListRecovered lists the integrations that take exports again and have had no catch-up since, nor one that began after
// a time.
func (db *DB) ListRecovered(ctx context.Context, before time.Time) ([]model.Place, error) {
	return rows.Query(ctx, db.reads, scanPlace, `SELECT h.tenant, h.integration FROM integration_health h
		LEFT JOIN catch_ups c ON c.tenant = h.tenant AND c.integration = h.integration
		WHERE h.recovered_at IS NOT NULL AND h.failures < $1
			AND (c.began_at IS NULL OR c.ended_at IS NOT NULL AND c.began_at <= h.recovered_at AND c.began_at <= $2)
		ORDER BY h.tenant, h.integration`, model.FailingAfter, rows.Micros(before))
}

func scanPlace(r row) (at model.Place, err error) {
	err = r.Scan(&at.Tenant, &at.Integration)
	return at, err
}

// ListUnclaimedCatchUps lists the catch-ups that are running, and that no node works on.
func (db *DB) ListUnclaimedCatchUps(ctx context.Context, now time.Time) ([]*model.CatchUp, error) {
	return rows.Query(ctx, db.reads, catchUps.Scan, `SELECT `+catchUps.Columns+` FROM catch_ups
		WHERE ended_at IS NULL AND claimed_till < $1 ORDER BY claimed_till`, rows.Micros(now))
}

// ClaimCatchUp has a node work on a catch-up until a time. It reports false when another one does, or when it has
// ended.
func (tx *Tx) ClaimCatchUp(c *model.CatchUp, now, till time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE catch_ups SET claimed_till = $1 WHERE tenant = $2 AND integration = $3 AND began_at = $4
		AND ended_at IS NULL AND claimed_till < $5`,
		rows.Micros(till), c.Tenant, c.Integration, rows.Micros(c.BeganAt), rows.Micros(now))
}

// UpdateCatchUp writes how far a catch-up came, and has its node go on with it until a time. It reports false when it
// is not running any more: another one began.
func (tx *Tx) UpdateCatchUp(c *model.CatchUp, till time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE catch_ups SET after_id = $1, received = $2, failed = $3, reason = $4, ended_at = $5,
		claimed_till = $6 WHERE tenant = $7 AND integration = $8 AND began_at = $9 AND ended_at IS NULL`,
		c.After, c.Received, c.Failed, c.Reason, rows.Micros(c.EndedAt), rows.Micros(till), c.Tenant, c.Integration,
		rows.Micros(c.BeganAt))
}

// MakeDue makes the next deliveries due that a catch-up comes to, at most MaxPage, and returns them by export. Those that
// somebody asked for keep when their next attempt was planned. It leaves out those that another node is writing.
func (tx *Tx) MakeDue(c *model.CatchUp, limit int, now time.Time) ([]*model.Delivery, error) {
	where := waits
	if !c.Asked { // neither the data nor a partner's wish to be left alone changes by itself
		where += ` AND d.fault <> 'data_fault' AND NOT EXISTS (SELECT 1 FROM attempts a
			WHERE a.delivery_id = d.id AND a.number = d.attempts AND a.status = 429)`
	}
	page, err := rows.QueryTx(tx.sql, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries d WHERE `+where+`
		AND d.export_id > $4 AND d.export_id < $5 ORDER BY d.export_id LIMIT $6`+tx.sql.SkipLocked(),
		c.Tenant, c.Integration, rows.Micros(c.BeganAt), c.After, cmp.Or(c.Before, math.MaxInt64), limit)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	in, args := oneOf(deliveryIDs(page))
	n := len(args)
	return page, tx.sql.Run(fmt.Sprintf(`UPDATE deliveries SET
			next_at = CASE WHEN $%[2]d OR next_at < $%[1]d THEN next_at ELSE $%[1]d END,
			asked_at = CASE WHEN $%[2]d THEN $%[1]d ELSE asked_at END
		WHERE id IN (%[3]s)`, n+1, n+2, in), append(args, rows.Micros(now), c.Asked)...)
}

func deliveryIDs(all []*model.Delivery) []int64 {
	ids := make([]int64, len(all))
	for n, d := range all {
		ids[n] = d.ID
	}
	return ids
}

// DeliveriesByID reads deliveries again, at most MaxPage, by export.
func (db *DB) DeliveriesByID(ctx context.Context, page []*model.Delivery) ([]*model.Delivery, error) {
	in, args := oneOf(deliveryIDs(page))
	return rows.Query(ctx, db.reads, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id IN (`+in+`)
		ORDER BY export_id`, args...)
}
