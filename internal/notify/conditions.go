package notify

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// conditions lists the conditions of integrations, each by the event that reports its beginning.
var conditions = []model.Event{model.IntegrationFailing, model.IntegrationRefusing, model.IntegrationDisabled, model.IntegrationHeld}

// state is the state of an integration in the database.
type state struct {
	of     *model.Integration
	status store.IntegrationStatus
	health model.Health
	held   store.HeldDeliveries
}

// in reports whether an integration is in a condition, and what is told of that.
func (s *state) in(condition model.Event, now time.Time) (bool, data) {
	standing := s.status.Standing(s.of, &s.health)
	switch condition {
	case model.IntegrationFailing:
		return standing == model.Failing && now.Sub(s.health.FailingSince) >= Lasting,
			data{Since: s.health.FailingSince, Failures: s.health.Failures, Class: s.health.Class}
	case model.IntegrationRefusing:
		r := s.health.Refusals
		return standing == model.Refusing, data{Since: r.Since, Attempts: r.Attempts, Count: r.Refused, Status: r.Status}
	case model.IntegrationDisabled:
		by := "partner"
		if s.status.ByOperator {
			by = "operator"
		}
		return standing == string(model.Disabled), data{Since: s.status.UpdatedAt, By: by}
	default:
		return s.held.Count > 0 && now.Sub(s.held.Since) >= Lasting, data{Since: s.held.Since, Count: s.held.Count}
	}
}

// tellConditions reports the conditions of integrations that began and ended.
func (n *Notifier) tellConditions(ctx context.Context, c *config.Config) error {
	db := n.Store
	active, err := db.ActiveConditions(ctx)
	if err != nil {
		return err
	}
	statuses, err := db.ListIntegrationStatuses(ctx)
	if err != nil {
		return err
	}
	health, err := db.ListHealth(ctx)
	if err != nil {
		return err
	}
	held, err := db.ListHeld(ctx)
	if err != nil {
		return err
	}
	for t := range c.All() {
		for i := range t.Integrations {
			one := &t.Integrations[i]
			at := model.Place{Tenant: one.Tenant, Integration: one.Name}
			seen := state{one, statuses.Of(one), health[at], held[at]}
			for _, event := range conditions {
				condition := store.Condition{Place: at, Event: event}
				if in, _ := seen.in(event, n.Now()); in != active[condition] {
					if err := n.change(ctx, c, one, condition); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// change tells that a condition began or ended, by what the database holds now: another node may have told it, and may
// have seen more.
func (n *Notifier) change(ctx context.Context, c *config.Config, i *model.Integration,
	condition store.Condition) error {
	return n.Store.Write(ctx, func(tx *store.Tx) error {
		s, err := read(tx, i, condition)
		if err != nil {
			return err
		}
		in, d := s.in(condition.Event, n.Now())
		if in {
			begun, err := tx.BeginCondition(condition, n.Now(), Pause)
			if err != nil || !begun {
				return err
			}
			return n.tell(tx, c, condition.Event, condition.Place, d)
		}
		ended, err := tx.EndCondition(condition)
		if err != nil || !ended || !s.recovered(condition.Event) {
			return err
		}
		since := s.health.Recovered
		if condition.Event == model.IntegrationRefusing {
			since = s.health.LastSuccess
		}
		return n.tell(tx, c, model.IntegrationRecovered, condition.Place, data{Since: since})
	})
}

// recovered reports whether an integration receives exports again, after a condition ended.
func (s *state) recovered(condition model.Event) bool {
	return (condition == model.IntegrationFailing || condition == model.IntegrationRefusing) &&
		s.status.Standing(s.of, &s.health) == string(model.Configured)
}

// read reads what a condition is about.
func read(tx *store.Tx, i *model.Integration, condition store.Condition) (s state, err error) {
	s.of = i
	if condition.Event == model.IntegrationHeld {
		s.held, err = tx.Held(condition.Place)
		return s, err
	}
	if s.status, err = tx.IntegrationStatus(i); err != nil {
		return s, err
	}
	s.health, err = tx.Health(condition.Place)
	return s, err
}
