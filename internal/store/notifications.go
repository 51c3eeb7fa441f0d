package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertNotification adds what is to be sent to a subscriber.
func (tx *Tx) InsertNotification(n *model.Notification) error {
	return tx.sql.Run(`INSERT INTO notifications (message, subscriber, event, tenant, integration, body, attempts,
		created_at, next_at, till) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9)`,
		n.Message, n.Subscriber, string(n.Event), n.Tenant, n.Integration, string(n.Body), rows.Micros(n.CreatedAt),
		rows.Micros(n.NextAt), rows.Micros(n.Till))
}

// DueNotifications lists the notifications of subscribers whose next attempt is due, the longest due first. Of those to
// one subscriber about the same integration only the first is listed: they are received in their order.
func (db *DB) DueNotifications(ctx context.Context, subscribers []string, now time.Time,
	limit int) ([]*model.Notification, error) {
	if len(subscribers) == 0 {
		return nil, nil
	}
	args, in := []any{rows.Micros(now), limit}, make([]string, len(subscribers))
	for n, id := range subscribers {
		args, in[n] = append(args, id), fmt.Sprintf("$%d", n+3)
	}
	return rows.Query(ctx, db.reads, func(r row) (*model.Notification, error) {
		n := new(model.Notification)
		var body string
		err := r.Scan(&n.ID, &n.Message, &n.Subscriber, &n.Event, &n.Tenant, &n.Integration, &body, &n.Attempts,
			rows.Time(&n.CreatedAt), rows.Time(&n.NextAt), rows.Time(&n.Till))
		n.Body = []byte(body)
		return n, err
	}, `SELECT id, message, subscriber, event, tenant, integration, body, attempts, created_at, next_at, till
		FROM notifications n WHERE next_at <= $1 AND subscriber IN (`+strings.Join(in, ", ")+`)
		AND NOT EXISTS (SELECT 1 FROM notifications b WHERE b.subscriber = n.subscriber AND b.tenant = n.tenant
			AND b.integration = n.integration AND b.id < n.id)
		ORDER BY next_at LIMIT $2`, args...)
}

// PostponeNotification moves the next attempt of a notification, whose attempts are those made so far. It reports
// false, and changes nothing, when another node did so since it was read, or sent it.
func (tx *Tx) PostponeNotification(n *model.Notification, next time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE notifications SET next_at = $1, attempts = $2 WHERE id = $3 AND next_at = $4`,
		rows.Micros(next), n.Attempts, n.ID, rows.Micros(n.NextAt))
}

// DeleteNotification deletes a notification that was received.
func (tx *Tx) DeleteNotification(id int64) error {
	return tx.sql.Run(`DELETE FROM notifications WHERE id = $1`, id)
}

// DeleteExpiredNotifications deletes up to 500 notifications whose time is over, and counts them by event.
func (tx *Tx) DeleteExpiredNotifications(now time.Time) (map[model.Event]int, error) {
	events, err := rows.QueryTx(tx.sql, rows.Value[model.Event], `DELETE FROM notifications WHERE id IN (
		SELECT id FROM notifications WHERE till <= $1 ORDER BY till LIMIT 500) RETURNING event`, rows.Micros(now))
	gone := map[model.Event]int{}
	for _, event := range events {
		gone[event]++
	}
	return gone, err
}

// CountNotifications counts what was not received yet: all of it, the notifications of events, and those whose time is over.
func (db *DB) CountNotifications(ctx context.Context, now time.Time) (waiting, events, expired int64, err error) {
	_, err = rows.QueryOne(ctx, db.reads, func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&waiting, &events, &expired)
	}, `SELECT count(*), coalesce(sum(CASE WHEN client = '' THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN till <= $1 THEN 1 ELSE 0 END), 0) FROM notifications`, rows.Micros(now))
	return waiting, events, expired, err
}
