package notify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	// sendEvery is how often the sender looks for due notifications.
	sendEvery = time.Second
	// atOnce is how many notifications are sent at once.
	atOnce = 16
	// lease is for how long no other node sends a notification: longer than an attempt takes.
	lease = webhook.AttemptTimeout + 10*time.Second
	// recordWithin is for writing what an attempt came to, also while the process ends.
	recordWithin = 10 * time.Second
)

// Send makes the attempts that are due.
func (n *Notifier) Send(ctx context.Context) error {
	c := n.InForce.Current()
	if c == nil || len(c.Subscribers) == 0 {
		return nil
	}
	subscribers, ids := map[string]*model.Subscriber{}, []string(nil)
	for i := range c.Subscribers {
		id := c.Subscribers[i].ID()
		subscribers[id], ids = &c.Subscribers[i], append(ids, id)
	}
	due, err := n.Store.DueNotifications(ctx, ids, n.Now(), atOnce)
	if err != nil || len(due) == 0 {
		return err
	}
	claimed, err := n.claim(ctx, due)
	if err != nil {
		return err
	}
	var attempts errgroup.Group
	for _, one := range claimed {
		attempts.Go(func() error { return n.attempt(ctx, c, subscribers[one.Subscriber], one) })
	}
	return attempts.Wait()
}

// claim has no other node send what this one is about to. If it dies, they send it after the lease.
func (n *Notifier) claim(ctx context.Context, due []*model.Notification) (claimed []*model.Notification, err error) {
	till := n.Now().Add(lease)
	err = n.Store.Write(ctx, func(tx *store.Tx) error {
		claimed = nil
		for _, one := range due {
			ours, err := tx.PostponeNotification(one, till)
			if err != nil {
				return err
			}
			if ours {
				claimed = append(claimed, one)
			}
		}
		return nil
	})
	for _, one := range claimed {
		one.NextAt = till.Truncate(time.Microsecond)
	}
	return claimed, err
}

// attempt sends a notification, and writes what came of it. A subscriber who was sent one twice tells by its id.
func (n *Notifier) attempt(ctx context.Context, c *config.Config, s *model.Subscriber,
	one *model.Notification) error {
	ctx = context.WithoutCancel(ctx)
	answer, err := c.Names.SendMessage(ctx, c.Egress.Client(), webhook.Message{
		URL: s.URL, Secrets: []string{s.Secret.Reveal(), s.FormerSecret.Reveal()}, ID: one.Message, Body: one.Body,
	})
	record, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	if err == nil && answer.Acknowledged() {
		if err := n.Store.Write(record, func(tx *store.Tx) error { return tx.DeleteNotification(one.ID) }); err != nil {
			return fmt.Errorf("deleting a notification that was received: %w", err)
		}
		metrics.Notifications(one.Event, "sent", 1)
		return nil
	}
	one.Attempts++
	gap := max(model.Schedule(nil).Backoff(one.Attempts, rand.Float64()), answer.RetryAfter)
	reason := fmt.Sprintf("answered %d; only 2xx means received", answer.Status)
	if err != nil {
		reason = err.Error()
	}
	metrics.Notifications(one.Event, "retried", 1)
	n.Log.Warn("a notification was not received; it is sent again", zap.String("event", string(one.Event)),
		zap.String("tenant", one.Tenant), zap.String("integration", one.Integration), zap.Int("attempt", one.Attempts),
		zap.String("reason", reason), zap.Duration("next_in", gap))
	err = n.Store.Write(record, func(tx *store.Tx) error {
		_, err := tx.PostponeNotification(one, n.Now().Add(gap))
		return err
	})
	if err != nil {
		return fmt.Errorf("writing that a notification was not received: %w", err)
	}
	return nil
}
