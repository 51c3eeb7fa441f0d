package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

var subscriptions = collection[model.EventSubscription]{"event_subscriptions", subscriptionData, []string{"disabled"},
	func(s *model.EventSubscription) (string, *model.Row, []any) { return s.ID, &s.Row, []any{s.Disabled} }, nil, ""}

// subscribed are the tenants that have a subscription, as far as this node knows.
type subscribed struct {
	tenants atomic.Pointer[map[string]bool]
}

func (s *subscribed) has(tenant string) bool {
	all := s.tenants.Load()
	return all != nil && (*all)[tenant]
}

// ReadSubscribed reads which tenants have a subscription: their events are written from now on.
func (db *DB) ReadSubscribed(ctx context.Context) error {
	all, err := rows.QueryMap(ctx, db.reads, func(r row) (tenant string, there bool, err error) {
		return tenant, true, r.Scan(&tenant)
	}, `SELECT DISTINCT tenant FROM event_subscriptions`)
	if err == nil {
		db.subscribed.tenants.Store(&all)
	}
	return err
}

// HasSubscriptions reports whether any tenant had a subscription when ReadSubscribed read.
func (db *DB) HasSubscriptions() bool {
	all := db.subscribed.tenants.Load()
	return all != nil && len(*all) > 0
}

// UpsertSubscription writes a subscription. A new one is sent what changes from now on.
func (tx *Tx) UpsertSubscription(s *model.EventSubscription, now time.Time) error {
	fresh := s.Version == 0
	if err := subscriptions.upsert(tx, s, now); err != nil || !fresh {
		return err
	}
	return tx.sql.Run(`UPDATE event_subscriptions SET sent = COALESCE((SELECT last FROM application_positions
		WHERE tenant = $1), 0) WHERE tenant = $1 AND id = $2`, s.Tenant, s.ID)
}

// Subscription finds a subscription within a transaction.
func (tx *Tx) Subscription(tenant, id string) (*model.EventSubscription, bool, error) {
	return subscriptions.find(tx, tenant, id)
}

// DeleteSubscription removes a subscription.
func (tx *Tx) DeleteSubscription(s *model.EventSubscription) error {
	return subscriptions.delete(tx, s)
}

// DeleteSubscriptionsOfTenant removes all subscriptions of a tenant, and its events.
func (tx *Tx) DeleteSubscriptionsOfTenant(tenant string) error {
	return tx.sql.RunAll([]string{`DELETE FROM event_subscriptions WHERE tenant = $1`, `DELETE FROM events WHERE tenant = $1`},
		tenant)
}

// Subscription reads a subscription; ErrNotFound when there is none.
func (db *DB) Subscription(ctx context.Context, tenant, id string) (*model.EventSubscription, error) {
	return subscriptions.get(ctx, db, tenant, id)
}

// ListSubscriptions lists the subscriptions of a tenant by id.
func (db *DB) ListSubscriptions(ctx context.Context, tenant string, p Page) ([]*model.EventSubscription, string, error) {
	return subscriptions.list(ctx, db, tenant, "", nil, p)
}

// SubscriptionProgress is how far a subscription is.
type SubscriptionProgress struct {
	Tenant, ID   string
	Sent         int64
	Attempts     int
	FailingSince time.Time // zero: the last attempt was received
	NextAt       time.Time
}

const progressColumns = `tenant, id, sent, attempts, failing_since, next_at`

func scanProgress(r row) (*SubscriptionProgress, error) {
	p := new(SubscriptionProgress)
	return p, r.Scan(&p.Tenant, &p.ID, &p.Sent, &p.Attempts, rows.Time(&p.FailingSince), rows.Time(&p.NextAt))
}

// SubscriptionProgress reads how far a subscription is.
func (db *DB) SubscriptionProgress(ctx context.Context, tenant, id string) (*SubscriptionProgress, error) {
	return rows.QueryOne(ctx, db.reads, scanProgress, `SELECT `+progressColumns+` FROM event_subscriptions WHERE tenant = $1
		AND id = $2`, tenant, id)
}

// DueSubscriptions lists the subscriptions that have events to be sent now, the longest due first.
func (db *DB) DueSubscriptions(ctx context.Context, now time.Time, limit int) ([]*SubscriptionProgress, error) {
	return rows.Query(ctx, db.reads, scanProgress, `SELECT `+progressColumns+` FROM event_subscriptions s WHERE NOT disabled
		AND next_at <= $1 AND EXISTS (SELECT 1 FROM events e WHERE e.tenant = s.tenant AND e.position > s.sent)
		ORDER BY next_at LIMIT $2`, rows.Micros(now), limit)
}

// UpdateProgress writes how far a subscription is, of which p.NextAt is as it was read. It reports false, and changes
// nothing, when another node has written since.
func (tx *Tx) UpdateProgress(p *SubscriptionProgress, next time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE event_subscriptions SET sent = $3, attempts = $4, failing_since = $5, next_at = $6
		WHERE tenant = $1 AND id = $2 AND next_at = $7`, p.Tenant, p.ID, p.Sent, p.Attempts, rows.Micros(p.FailingSince), rows.Micros(next),
		rows.Micros(p.NextAt))
}

// EndTurns ends the turns that a process left which has ended.
func (tx *Tx) EndTurns() error {
	return tx.sql.Run(`UPDATE event_subscriptions SET next_at = 0 WHERE attempts = 0`)
}

// ListDisabledSubscriptions lists the disabled subscriptions of all tenants.
func (db *DB) ListDisabledSubscriptions(ctx context.Context) ([]*model.EventSubscription, error) {
	kept, err := rows.Query(ctx, db.reads, scanResource, `SELECT `+resourceColumns+` FROM event_subscriptions WHERE disabled
		ORDER BY tenant, id`)
	return subscriptions.open(db.opening(ctx), kept, err)
}
