package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// LogoutSender tells applications which sessions have ended (OpenID Connect Back-Channel Logout 1.0): each application's
// one after the other. The token is signed when it is sent, since it is valid for minutes only.
type LogoutSender struct {
	Store   *store.DB
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger

	turns turns
}

// Loop sends what is due.
func (s *LogoutSender) Loop() loop.Loop {
	return loop.Loop{Name: "logouts", Every: sendEvery, Round: s.Send, End: s.Wait,
		Failed: "ended sessions could not be read or written for applications; it is tried again"}
}

// Send begins to tell what is due. Its error is one of turns that have ended since.
func (s *LogoutSender) Send(ctx context.Context) error {
	c := s.InForce.Current()
	if c == nil || len(c.Logouts) == 0 {
		return nil
	}
	free, failed := s.turns.state()
	if free == 0 || failed != nil {
		return failed
	}
	due, err := s.Store.DueLogoutClients(ctx, slices.Collect(maps.Keys(c.Logouts)), s.Now(), free)
	if err != nil {
		return err
	}
	for _, to := range due {
		s.turns.begin(to.Issuer+" "+to.Client, func() error { return s.turn(ctx, c, to) })
	}
	return nil
}

// Wait waits until the turns that have begun are over.
func (s *LogoutSender) Wait() { s.turns.wait() }

// turn tells an application what is due, until it is away or the turn is over.
func (s *LogoutSender) turn(ctx context.Context, c *config.Config, to store.LogoutClient) error {
	for began := s.Now(); ctx.Err() == nil && s.Now().Sub(began) < changesWithin; {
		one, err := s.Store.NextLogout(ctx, to, s.Now())
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		ours, err := s.postpone(ctx, one, lease)
		if err != nil {
			return err
		}
		if !ours { // another node has it
			continue
		}
		if away, err := s.attempt(ctx, c, one); err != nil || away {
			return err
		}
	}
	return nil
}

// postpone moves the next attempt. It reports false when another node did so since it was read.
func (s *LogoutSender) postpone(ctx context.Context, one *model.Notification, gap time.Duration) (ours bool, err error) {
	next := s.Now().Add(gap).UTC().Truncate(time.Microsecond)
	err = s.write(ctx, func(tx *store.Tx) (err error) {
		ours, err = tx.PostponeNotification(one, next)
		return err
	})
	if ours {
		one.NextAt = next
	}
	return ours, err
}

// write writes what came of an attempt, also while the process ends.
func (s *LogoutSender) write(ctx context.Context, fn func(tx *store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	return s.Store.Write(ctx, fn)
}

// attempt tells an application of the end of a session. It reports whether the application is away: then all that waits
// for it is postponed.
func (s *LogoutSender) attempt(ctx context.Context, c *config.Config, one *model.Notification) (away bool, err error) {
	ctx = context.WithoutCancel(ctx)
	var ended identity.EndedSession
	if err := json.Unmarshal(one.Body, &ended); err != nil {
		return false, err
	}
	uri, token, err := c.Logouts[one.Subscriber](ctx, one.Client, ended)
	if err != nil {
		return false, err
	}
	remove := func(tx *store.Tx) error { return tx.DeleteNotification(one.ID) }
	if uri == "" { // it wants none any more
		return false, s.write(ctx, remove)
	}
	answer, err := c.Names.SendLogout(ctx, c.Egress.Client(), uri, token)
	if err == nil && answer.Acknowledged() {
		metrics.Notifications(one.Event, "sent", 1)
		return false, s.write(ctx, remove)
	}
	away = err != nil || answer.Status >= http.StatusInternalServerError || answer.Status == http.StatusTooManyRequests
	reason := fmt.Sprintf("answered %d; only 2xx means that it ended the session", answer.Status)
	if err != nil {
		reason = err.Error()
	}
	one.Attempts++
	gap := max(model.Schedule(nil).Backoff(one.Attempts, rand.Float64()), answer.RetryAfter)
	metrics.Notifications(one.Event, "retried", 1)
	s.Log.Warn("an application was not told that a session has ended; it is told again", zap.String("client", one.Client),
		zap.Int("attempt", one.Attempts), zap.String("reason", reason), zap.Duration("next_in", gap))
	if _, err := s.postpone(ctx, one, gap); err != nil || !away {
		return away, err
	}
	return away, s.write(ctx, func(tx *store.Tx) error {
		return tx.PostponeLogouts(store.LogoutClient{Issuer: one.Subscriber, Client: one.Client}, one.NextAt)
	})
}
