package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	// ChangesTriedFor is for how long an event is sent. Afterwards it can still be listed.
	ChangesTriedFor = 72 * time.Hour
	// changesAtOnce is how many events of a subscription are read at once.
	changesAtOnce = 100
	// changesWithin ends that turn.
	changesWithin = 30 * time.Second
)

// ChangeSender sends what changes to those who subscribed to it: each subscription's events one after the other, in order.
// How far it is, its row says: a node that dies sends the last event again, with the same id. A receiver that hangs delays
// no other: turns are side by side, and the next round does not wait for them.
type ChangeSender struct {
	Store   *store.DB
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger

	begun bool // what a process before this one left is looked after
	turns turns
}

// Loop sends what is due.
func (s *ChangeSender) Loop() loop.Loop {
	return loop.Loop{Name: "changes", Every: sendEvery, Round: s.Send, End: s.Wait,
		Failed: "events could not be read or written; it is tried again"}
}

// Send begins to send the events that are due. Its error is one of turns that have ended since.
func (s *ChangeSender) Send(ctx context.Context) error {
	c := s.InForce.Current()
	if c == nil {
		return nil
	}
	if err := s.Store.ReadSubscribed(ctx); err != nil { // another node may have made one
		return err
	}
	if !s.begun && s.Store.Exclusive() && s.Store.HasSubscriptions() {
		if err := s.Store.Write(ctx, (*store.Tx).EndTurns); err != nil {
			return err
		}
	}
	s.begun = true
	free, failed := s.turns.state()
	if free == 0 || failed != nil {
		return failed
	}
	due, err := s.Store.DueSubscriptions(ctx, s.Now(), free)
	if err != nil {
		return err
	}
	for _, p := range due {
		if _, known := c.Tenant(p.Tenant); known {
			s.turns.begin(p.Tenant+"/"+p.ID, func() error { return s.turn(ctx, c, p) })
		}
	}
	return nil
}

// Wait waits until the turns that have begun are over.
func (s *ChangeSender) Wait() { s.turns.wait() }

// write writes how far a subscription is. It reports false when another node has its turn.
func (s *ChangeSender) write(ctx context.Context, p *store.SubscriptionProgress, next time.Time) (ours bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	next = next.UTC().Truncate(time.Microsecond)
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		ours, err = tx.UpdateProgress(p, next)
		return err
	})
	if err == nil && ours {
		p.NextAt = next
	}
	return ours, err
}

// turn sends events of a subscription until there are none, one is not received, or the turn is over.
func (s *ChangeSender) turn(ctx context.Context, c *config.Config, p *store.SubscriptionProgress) error {
	began := s.Now()
	if ours, err := s.write(ctx, p, began.Add(lease)); err != nil || !ours {
		return err
	}
	to, err := s.Store.Subscription(ctx, p.Tenant, p.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	next, more := s.Now(), true
	for more {
		events, err := s.Store.ListEvents(ctx, p.Tenant, p.Sent, changesAtOnce)
		if err != nil {
			return err
		}
		if more, next, err = s.sendPage(ctx, c, to, p, events); err != nil {
			return err
		}
		more = more && len(events) == changesAtOnce && ctx.Err() == nil && s.Now().Sub(began) < changesWithin
	}
	_, err = s.write(ctx, p, next)
	return err
}

// sendPage sends events until one is not received. It reports whether all were, and when the next attempt is due.
func (s *ChangeSender) sendPage(ctx context.Context, c *config.Config, to *model.EventSubscription, p *store.SubscriptionProgress,
	events []*model.ChangeEvent) (all bool, next time.Time, err error) {
	for _, e := range events {
		if ctx.Err() != nil {
			return false, s.Now(), nil
		}
		if to.Wants(e.Type) && s.Now().Sub(e.At) < ChangesTriedFor {
			received, gap, err := s.attempt(ctx, c, to, e, p.Attempts+1)
			if err != nil {
				return false, next, err
			}
			if !received {
				p.Attempts++
				if p.FailingSince.IsZero() {
					p.FailingSince = s.Now()
				}
				return false, s.Now().Add(gap), nil
			}
		}
		p.Sent, p.Attempts, p.FailingSince = e.Position, 0, time.Time{}
		if ours, err := s.write(ctx, p, s.Now().Add(lease)); err != nil || !ours {
			return false, s.Now(), err
		}
	}
	return true, s.Now(), nil
}

// attempt sends an event. Where it was not received, gap is how long to wait. An answer 410 disables the subscription.
func (s *ChangeSender) attempt(ctx context.Context, c *config.Config, to *model.EventSubscription, e *model.ChangeEvent,
	attempts int) (received bool, gap time.Duration, err error) {
	shown := api.EventOf(e)
	body, err := json.Marshal(shown)
	if err != nil {
		return false, 0, err
	}
	answer, err := c.Names.SendMessage(context.WithoutCancel(ctx), c.Egress.Client(), webhook.Message{URL: to.URL,
		Secrets: []string{to.Secret}, ID: shown.ID, Body: body})
	if err == nil && answer.Acknowledged() {
		return true, 0, nil
	}
	reason := fmt.Sprintf("answered %d; only 2xx means received", answer.Status)
	if err != nil {
		reason = err.Error()
	}
	gap = max(model.Schedule(nil).Backoff(attempts, rand.Float64()), answer.RetryAfter)
	s.Log.Warn("an event was not received; it is sent again", zap.String("event", string(e.Type)), zap.String("tenant", to.Tenant),
		zap.String("subscription", to.ID), zap.Int("attempt", attempts), zap.String("reason", reason), zap.Duration("next_in", gap))
	if err == nil && answer.Status == http.StatusGone {
		return false, gap, s.disable(ctx, to)
	}
	return false, gap, nil
}

func (s *ChangeSender) disable(ctx context.Context, of *model.EventSubscription) error {
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		now, there, err := tx.Subscription(of.Tenant, of.ID)
		if err != nil || !there || now.Version != of.Version {
			return err
		}
		now.Disabled, now.Reason = true, "its receiver answered 410"
		return tx.UpsertSubscription(now, s.Now())
	})
}
