package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// Standing is the condition of an integration: what keeps its exports from it, and since when.
type Standing struct {
	Integration *model.Integration
	Status      store.IntegrationStatus
	Health      model.Health
	Waiting     store.Waiting // for this integration, also what waits for Temporal
	Gate        delivery.Gate // on this node
}

// State returns the state of the integration's setup or, of a configured one, whether it receives exports.
func (s *Standing) State() string { return s.Status.Standing(s.Integration, &s.Health) }

// Since returns when the state began; zero: unknown, because nothing was sent yet.
func (s *Standing) Since() time.Time {
	switch {
	case s.State() == model.Failing:
		return s.Health.FailingSince
	case s.State() == model.Refusing:
		return s.Health.Refusals.Since
	case s.State() == string(model.Configured) && s.Health.Recovered.After(s.Status.UpdatedAt):
		return s.Health.Recovered
	}
	return s.Status.UpdatedAt
}

// Reason is why it takes nothing, in a sentence for people; empty: it does.
func (s *Standing) Reason(now time.Time) string {
	switch s.State() {
	case model.Failing:
		return s.Health.Reason
	case model.Refusing:
		r := s.Health.Refusals
		return fmt.Sprintf("refuses what it gets since %s: %d of %d answered %d", clock(r.Since, now), r.Refused, r.Attempts,
			r.Status)
	case model.Unproven:
		switch {
		case s.Health.Failures > 0:
			return "nothing was received yet: " + s.Health.Reason
		case s.Health.Refusals.Refused > 0:
			return fmt.Sprintf("nothing was received yet: the last attempt was answered %d", s.Health.Refusals.Status)
		case s.Integration.Verify:
			return "verified, nothing sent yet"
		}
		return "verify off: it is trusted without VERIFY; nothing sent yet"
	case string(model.Configured):
		if s.Gate.OverRate && s.Waiting.Count > 0 {
			return fmt.Sprintf("it gets %s at most: its exports wait for their turn", s.Integration.Rate)
		}
		return ""
	}
	return s.Status.Reason
}

// clock is a time of day, with the date unless that is today's.
func clock(at, now time.Time) string {
	if at, now := at.UTC(), now.UTC(); at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04 MST")
	}
	return at.UTC().Format("2006-01-02 15:04 MST")
}

// waitsLong is for how long a delivery may wait before somebody should look.
const waitsLong = time.Hour

// Need returns what a person has to look at; nil: nothing.
func (s *Standing) Need(now time.Time) *model.Need {
	i := s.Integration
	n := model.Need{Tenant: i.Tenant, Integration: i.Name, Since: s.Since(), Count: s.Waiting.Count, LostAt: s.Waiting.Ends,
		Action: fmt.Sprintf("hiregate integration show %s/%s", i.Tenant, i.Name)}
	at := i.Tenant + "/" + i.Name
	switch state := s.State(); {
	case s.Unknown():
		n.Kind, n.Since, n.Sentence = model.NeedUnknown, s.Waiting.Oldest, at+": "+s.Status.Reason
		n.Action = fmt.Sprintf("hiregate export list --undelivered --tenant %s --integration %s", i.Tenant, i.Name)
	case state == model.Failing:
		n.Kind = model.NeedFailing
		n.Sentence = fmt.Sprintf("%s: it is failing, %d times in a row: %s", at, s.Health.Failures, s.Health.Reason)
	case state == model.Refusing:
		n.Kind, n.Sentence = model.NeedRefusing, at+": "+s.Reason(now)
	case state == string(model.NotConfigured):
		n.Kind, n.Sentence = model.NeedNotConfigured, at+": it is not verified: "+s.Status.Reason
	case state == string(model.Disabled) && n.Count > 0:
		n.Kind, n.Sentence = model.NeedDisabled, at+": it is disabled: "+s.Status.Reason
		n.Action = fmt.Sprintf("hiregate integration enable %s/%s", i.Tenant, i.Name)
	case s.Waiting.Overdue > 0 && !s.Gate.Closed():
		n.Kind, n.Since, n.Count = model.NeedOverdue, time.Time{}, s.Waiting.Overdue
		n.Sentence = at + ": the next attempt of some of its exports should have been made by now; they go on by themselves where the " +
			"gateway is busy: see what they wait for if they stay"
		n.Action = fmt.Sprintf("hiregate export list --undelivered --tenant %s --integration %s", i.Tenant, i.Name)
	case n.Count > 0 && now.Sub(s.Waiting.Oldest) >= waitsLong:
		n.Kind, n.Since, n.Sentence = model.NeedUndelivered, s.Waiting.Oldest, at+": some of its exports wait for more than an hour"
		n.Action = fmt.Sprintf("hiregate export list --undelivered --tenant %s --integration %s", i.Tenant, i.Name)
	case s.certificateEnds(now):
		end := i.Authentication.CertificateEnd()
		n.Kind, n.Since = model.NeedCertificate, end.Add(-certificateEarly)
		n.Sentence = fmt.Sprintf("%s: its client certificate ends at %s: renew it in tls of the integration's authentication", at,
			end.UTC().Format(time.RFC3339))
	default:
		return nil
	}
	if n.Count > 0 {
		n.Sentence += fmt.Sprintf("; exports wait for it: %d", n.Count)
	}
	return &n
}

// certificateEarly is how long before its end a certificate needs a person: the alert of client certificates says so as well.
const certificateEarly = 14 * 24 * time.Hour

func (s *Standing) certificateEnds(now time.Time) bool {
	return endsSoon(s.Integration.Authentication.CertificateEnd(), now)
}

// endsSoon reports whether a certificate that ends then needs a person; with the zero time there is none.
func endsSoon(end, now time.Time) bool { return !end.IsZero() && end.Sub(now) < certificateEarly }

// Standings are how the integrations of all tenants do, by tenant and name, with those that exports wait for and that are
// not configured any more. It asks a few questions for all of them together.
func (r *Runtime) Standings(ctx context.Context, c *config.Config) ([]*Standing, error) {
	db := r.Store()
	statuses, err := db.ListIntegrationStatuses(ctx)
	if err != nil {
		return nil, err
	}
	health, err := db.ListHealth(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := db.CountUndelivered(ctx, r.now())
	if err != nil {
		return nil, err
	}
	var all []*Standing
	for t := range c.All() {
		unsent := waiting[model.Place{Tenant: t.Name}] // for each of them, once Temporal is back
		for n := range t.Integrations {
			i := &t.Integrations[n]
			at := model.Place{Tenant: i.Tenant, Integration: i.Name}
			all = append(all, &Standing{Integration: i, Status: statuses.Of(i), Health: health[at],
				Waiting: waiting[at].Add(unsent), Gate: r.exports.Gate(i)})
		}
	}
	for at, w := range waiting {
		if _, known := c.Integration(at.Tenant, at.Integration); !known && at.Integration != "" {
			all = append(all, unknown(at, w))
		}
	}
	slices.SortFunc(all, func(a, b *Standing) int {
		return cmp.Or(cmp.Compare(a.Integration.Tenant, b.Integration.Tenant),
			cmp.Compare(a.Integration.Name, b.Integration.Name))
	})
	return all, nil
}

// Unknown reports whether the integration is not in the configuration.
func (s *Standing) Unknown() bool { return s.Integration.URL == "" && !s.Integration.Damaged }

// unknown is an integration that exports wait for, and that is not in the configuration.
func unknown(at model.Place, waiting store.Waiting) *Standing {
	return &Standing{
		Integration: &model.Integration{Tenant: at.Tenant, Name: at.Integration, Verify: true,
			Options: model.Options{Documents: model.Rehost}},
		Status: store.IntegrationStatus{State: model.NotConfigured,
			Reason: "it is not in this gateway's configuration; what waits for it goes out once it is there again"},
		Waiting: waiting,
	}
}

// Waits prepares to say why deliveries of some exports wait, at most store.MaxPage.
func (r *Runtime) Waits(ctx context.Context, c *config.Config, now time.Time,
	exports ...*model.Export) (*export.Waits, error) {
	return r.exports.Waits(ctx, c, now, exports)
}

// measureEvery is how often the gauges of integrations are set, at most.
const measureEvery = 10 * time.Second

// measure sets the gauges of integrations, and stores what the overview shows. It takes a tenth of the time at most.
func (r *Runtime) measure() loop.Loop {
	var seen overview
	return loop.Loop{Name: "standings", First: time.Second, Every: measureEvery, Away: r.unconfigured,
		Failed: "what came and waits could not be counted or stored; it is in a moment",
		Pace:   func(took time.Duration, _ error) time.Duration { return max(measureEvery, 9*took) },
		Round: func(ctx context.Context) error {
			all, err := r.measured(ctx, r.InForce.Current(), r.now())
			if err != nil {
				return err
			}
			metrics.Held(heldOf(all))
			seen.add(all, r.now())
			return seen.store(ctx, r.Store(), r.now())
		}}
}

// failedFor is for how long the alerts of failed deliveries and of lost documents show them, so that the morning sees what
// happened at night. A document is lost up to its window after its export came.
const failedFor = 12 * time.Hour

// measured sets the gauges of integrations and tenants, and returns the standings that it sets them by.
func (r *Runtime) measured(ctx context.Context, c *config.Config, now time.Time) ([]*Standing, error) {
	all, err := r.Standings(ctx, c)
	if err != nil {
		return nil, err
	}
	failed, err := r.Store().CountFailed(ctx, now.Add(-failedFor))
	if err != nil {
		return nil, err
	}
	lost, err := r.Store().CountLostDocuments(ctx, now.Add(-failedFor-model.DocumentWindow))
	if err != nil {
		return nil, err
	}
	faulty, err := r.Store().CountFaulty(ctx, now.Add(-faultyFor))
	if err != nil {
		return nil, err
	}
	integrations := map[model.Place]metrics.Integration{}
	for _, s := range all {
		at := model.Place{Tenant: s.Integration.Tenant, Integration: s.Integration.Name}
		one := metrics.Integration{State: s.State(), Waiting: s.Waiting.Count, Failed: failed[at], LastDelivery: s.Health.LastSuccess,
			BreakerOpen: s.Gate.BreakerOpen, CertificateEnd: s.Integration.Authentication.CertificateEnd()}
		if s.Waiting.Count > 0 {
			one.Oldest = max(0, now.Sub(s.Waiting.Oldest))
		}
		if !s.Gate.Closed() {
			one.Overdue = s.Waiting.Overdue
		}
		integrations[at] = one
	}
	tenants := map[string]metrics.Tenant{}
	for t := range c.All() {
		tenants[t.Name] = metrics.Tenant{LostDocuments: lost[t.Name], Faulty: faulty[t.Name].Count, Labels: t.Labels}
	}
	metrics.Integrations(integrations, model.Standings)
	metrics.Tenants(tenants)
	return all, nil
}

func heldOf(all []*Standing) map[model.Place]int64 {
	held := map[model.Place]int64{}
	for _, s := range all {
		if s.Waiting.Held > 0 {
			held[model.Place{Tenant: s.Integration.Tenant, Integration: s.Integration.Name}] = s.Waiting.Held
		}
	}
	return held
}
