// Package notify tells subscribers what happens to integrations and exports: when it begins or ends, not for as long
// as it lasts. What is to be told is decided on what the database holds, in a transaction that also adds the
// notifications, so that several nodes tell it once, and a node that dies loses nothing.
package notify

import (
	"context"
	"crypto/rand"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// watchEvery is how often conditions and counts are compared with the last notifications.
	watchEvery = 10 * time.Second
	// Lasting is how long an integration is failing, or holds exports, before that is reported: a moment is no news.
	Lasting = 30 * time.Second
	// Pause is how long after the begin of a condition it is not told that it begins again: an integration that comes
	// and goes makes four notifications an hour at most for each condition.
	Pause = 30 * time.Minute
	// triedFor is how long a notification is tried.
	triedFor = 24 * time.Hour
	// most is how many notifications may wait to be received. Further events are reported once there is room.
	most = 10_000
	// countsAtOnce is how many counts are reported in a round.
	countsAtOnce = 500
)

// Notifier decides what is to be told, and sends it.
type Notifier struct {
	Store   *store.DB
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger

	full bool // it was logged that too many notifications wait
}

// Loops look for what is to be told, and send it. An attempt under way comes to its end.
func (n *Notifier) Loops() []loop.Loop {
	return []loop.Loop{
		{Name: "events", Every: watchEvery, Round: n.Look, Failed: "events could not be stored as notifications; it is tried again"},
		{Name: "notifications", Every: sendEvery, Round: n.Send,
			Failed: "notifications could not be read or written; it is tried again"},
	}
}

// Look adds the notifications of what began, ended and happened since the last look, of whichever node.
func (n *Notifier) Look(ctx context.Context) error {
	c := n.InForce.Current()
	if c == nil {
		return nil
	}
	waiting, events, expired, err := n.Store.CountNotifications(ctx, n.Now())
	if err == nil && expired > 0 {
		err = n.expire(ctx)
	}
	if err != nil {
		return err
	}
	metrics.NotificationsWaiting(waiting)
	if events >= most {
		if !n.full {
			n.Log.Error("too many notifications wait: further events are reported once some are received or a day old",
				zap.Int64("waiting", events))
		}
		n.full = true
		return nil
	}
	n.full = false
	if len(c.Subscribers) > 0 {
		if err := n.tellConditions(ctx, c); err != nil {
			return err
		}
	}
	return n.tellCounts(ctx, c)
}

// expire drops what was not received for a day.
func (n *Notifier) expire(ctx context.Context) error {
	for {
		var gone map[model.Event]int
		err := n.Store.Write(ctx, func(tx *store.Tx) (err error) {
			gone, err = tx.DeleteExpiredNotifications(n.Now())
			return err
		})
		if err != nil || len(gone) == 0 {
			return err
		}
		for event, count := range gone {
			metrics.Notifications(event, "failed", count)
			n.Log.Error("notifications were given up after a day", zap.String("event", string(event)),
				zap.Int("notifications", count))
		}
	}
}

// tellCounts tells what happened to exports. Where nobody is to be notified, it is forgotten: whoever subscribes later
// hears of what happens then.
func (n *Notifier) tellCounts(ctx context.Context, c *config.Config) error {
	due, err := n.Store.DueEventCounts(ctx, n.Now(), countsAtOnce)
	if err != nil {
		return err
	}
	for _, one := range due {
		err := n.Store.Write(ctx, func(tx *store.Tx) error {
			count := one
			taken, err := tx.TakeEventCount(&count, n.Now())
			if err != nil || !taken {
				return err
			}
			return n.tell(tx, c, count.Event, model.Place{Tenant: count.Tenant, Integration: count.Integration},
				data{Since: count.Since, Count: count.Count})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tell adds a notification for each subscriber who wants it.
func (n *Notifier) tell(tx *store.Tx, c *config.Config, event model.Event, at model.Place, d data) error {
	now := n.Now()
	d.Tenant, d.Integration = at.Tenant, at.Integration
	body, err := bodyOf(event, now, d)
	if err != nil {
		return err
	}
	var labels model.Labels
	if tenant, ok := c.Tenant(at.Tenant); ok {
		labels = tenant.Labels
	}
	for i := range c.Subscribers {
		s := &c.Subscribers[i]
		if !s.Wants(event, at.Tenant, labels) {
			continue
		}
		if err := tx.InsertNotification(&model.Notification{
			Message: "msg_" + rand.Text(), Subscriber: s.ID(), Event: event, Tenant: at.Tenant,
			Integration: at.Integration, Body: body, CreatedAt: now, NextAt: now, Till: now.Add(triedFor),
		}); err != nil {
			return err
		}
	}
	return nil
}
