package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

const (
	// TellAfter is how long events of exports are collected before the first notification of them.
	TellAfter = time.Minute
	// TellEvery is the time between two notifications of them.
	TellEvery = time.Hour
)

// CountEvent counts something that happened to an export, in the transaction in which it does.
func (tx *Tx) CountEvent(event model.Event, tenant, integration string, now time.Time) {
	batch := tx.sql.Collect("events", func() database.Collection {
		return &eventBatch{map[eventKey]*EventCount{}}
	}).(*eventBatch)
	key := eventKey{event, model.Place{Tenant: tenant, Integration: integration}}
	if batch.counts[key] == nil {
		batch.counts[key] = &EventCount{Since: now}
	}
	batch.counts[key].Count++
}

type eventKey struct {
	event model.Event
	model.Place
}

// eventBatch gathers the events that the closures of a transaction count.
type eventBatch struct {
	counts map[eventKey]*EventCount
}

// Writes implements database.Collection. The order keeps nodes that count the same from a deadlock.
func (b *eventBatch) Writes() (all []func(*database.Tx) error) {
	for _, key := range slices.SortedFunc(maps.Keys(b.counts), func(x, y eventKey) int {
		return cmp.Or(cmp.Compare(x.event, y.event), comparePlaces(x.Place, y.Place))
	}) {
		all = append(all, func(tx *database.Tx) error {
			if err := b.add(tx, key); err != nil {
				return fmt.Errorf("counting what is to be told: %w", err)
			}
			return nil
		})
	}
	return all
}

func (b *eventBatch) add(tx *database.Tx, key eventKey) error {
	c := b.counts[key]
	return tx.Run(`INSERT INTO notification_counts AS c
		(event, tenant, integration, count, since, due_at, told_at) VALUES ($1, $2, $3, $4, $5, $6, 0)
		ON CONFLICT (event, tenant, integration) DO UPDATE SET count = c.count + excluded.count,
			since = CASE WHEN c.count = 0 THEN excluded.since ELSE c.since END,
			due_at = CASE WHEN c.due_at IS NOT NULL THEN c.due_at
				WHEN c.told_at + $7 > excluded.due_at THEN c.told_at + $7 ELSE excluded.due_at END`,
		string(key.event), key.Tenant, key.Integration, c.Count, rows.Micros(c.Since), rows.Micros(c.Since.Add(TellAfter)),
		TellEvery.Microseconds())
}

// EventCount counts an event of exports since the last notification of it.
type EventCount struct {
	Event       model.Event
	Tenant      string
	Integration string // empty: the event is about none
	Count       int64
	Since       time.Time // the first of them
}

// DueEventCounts lists what is to be told now.
func (db *DB) DueEventCounts(ctx context.Context, now time.Time, limit int) ([]EventCount, error) {
	return rows.Query(ctx, db.reads, func(r row) (c EventCount, err error) {
		err = r.Scan(&c.Event, &c.Tenant, &c.Integration)
		return c, err
	}, `SELECT event, tenant, integration FROM notification_counts WHERE due_at <= $1 ORDER BY due_at LIMIT $2`,
		rows.Micros(now), limit)
}

// TakeEventCount begins to count from 0 again, and sets the count and the time of what was listed as due; the caller
// tells it in the same transaction. It reports false when another node has done so.
func (tx *Tx) TakeEventCount(c *EventCount, now time.Time) (bool, error) {
	taken, err := tx.sql.Scan([]any{&c.Count, rows.Time(&c.Since)}, `SELECT count, since FROM notification_counts
		WHERE event = $1 AND tenant = $2 AND integration = $3 AND due_at <= $4`+tx.sql.SkipLocked(),
		string(c.Event), c.Tenant, c.Integration, rows.Micros(now))
	if err != nil || !taken {
		return false, err
	}
	return true, tx.sql.Run(`UPDATE notification_counts SET count = 0, due_at = NULL, told_at = $1
		WHERE event = $2 AND tenant = $3 AND integration = $4`, rows.Micros(now), string(c.Event), c.Tenant, c.Integration)
}

// HeldDeliveries counts the held deliveries of an integration, without those of exports in quarantine.
type HeldDeliveries struct {
	Count int64
	Since time.Time // the first of them
}

const selectHeld = `SELECT tenant, integration, count(*), min(held_since) FROM deliveries WHERE held_since IS NOT NULL
	AND ` + notQuarantined

func scanHeld(r row) (at model.Place, h HeldDeliveries, err error) {
	err = r.Scan(&at.Tenant, &at.Integration, &h.Count, rows.Time(&h.Since))
	return at, h, err
}

// ListHeld reads what is held of each integration that holds anything.
func (db *DB) ListHeld(ctx context.Context) (map[model.Place]HeldDeliveries, error) {
	return rows.QueryMap(ctx, db.reads, scanHeld, selectHeld+` GROUP BY tenant, integration`)
}

// Held reads what an integration holds.
func (tx *Tx) Held(at model.Place) (HeldDeliveries, error) {
	all, err := rows.QueryTx(tx.sql, func(r row) (HeldDeliveries, error) {
		_, h, err := scanHeld(r)
		return h, err
	}, selectHeld+` AND tenant = $1 AND integration = $2 GROUP BY tenant, integration`, at.Tenant, at.Integration)
	h, _, err := rows.First(all, err)
	return h, err
}

// Health is DB.Health within a transaction.
func (tx *Tx) Health(at model.Place) (model.Health, error) {
	all, err := rows.QueryTx(tx.sql, func(r row) (model.Health, error) {
		_, h, err := scanHealth(r)
		return h, err
	}, selectHealth+` WHERE tenant = $1 AND integration = $2`, at.Tenant, at.Integration)
	h, _, err := rows.First(all, err)
	return h, err
}

// Condition is a condition of an integration, by the event that reports its beginning.
type Condition struct {
	model.Place
	Event model.Event
}

// ActiveConditions are the conditions whose begin was told, and not their end.
func (db *DB) ActiveConditions(ctx context.Context) (map[Condition]bool, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (c Condition, active bool, err error) {
		err = r.Scan(&c.Tenant, &c.Integration, &c.Event, &active)
		return c, active, err
	}, `SELECT tenant, integration, event, active FROM notification_conditions WHERE active`)
}

// BeginCondition notes that the begin of a condition is told, in the same transaction. It reports false when it was
// told before, by whichever node, or an earlier begin was told less than a pause ago.
func (tx *Tx) BeginCondition(c Condition, now time.Time, pause time.Duration) (bool, error) {
	return tx.sql.Changed(`INSERT INTO notification_conditions AS c (tenant, integration, event, active, told_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, integration, event) DO UPDATE SET active = excluded.active, told_at = excluded.told_at
		WHERE c.active <> excluded.active AND c.told_at <= $6`,
		c.Tenant, c.Integration, string(c.Event), true, rows.Micros(now), rows.Micros(now.Add(-pause)))
}

// EndCondition notes that a condition ended. It reports false when that is known.
func (tx *Tx) EndCondition(c Condition) (bool, error) {
	return tx.sql.Changed(`UPDATE notification_conditions SET active = $1 WHERE tenant = $2 AND integration = $3
		AND event = $4 AND active`, false, c.Tenant, c.Integration, string(c.Event))
}

// deleteConditions forgets what was told of an integration that is removed: another one of its name begins afresh.
func (tx *Tx) deleteConditions(i *model.Integration) error {
	return tx.sql.Run(`DELETE FROM notification_conditions WHERE tenant = $1 AND integration = $2`, i.Tenant, i.Name)
}

// deleteEventCounts forgets what is to be told of a tenant that is removed.
func (tx *Tx) deleteEventCounts(tenant string) error {
	return tx.sql.Run(`DELETE FROM notification_counts WHERE tenant = $1`, tenant)
}
