package manageapi

import (
	"cmp"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// health is an integration, and how it does.
type health struct {
	integration
	State         string      `json:"state"` // that of the integration, or how it does
	Reason        string      `json:"reason,omitempty"`
	Since         time.Time   `json:"since,omitzero"` // of the state
	Waiting       int64       `json:"waiting"`        // deliveries that are not final
	OldestWaiting time.Time   `json:"oldestWaiting,omitzero"`
	LastSuccess   time.Time   `json:"lastSuccess,omitzero"`
	Failures      int64       `json:"consecutiveFailures"`
	Breaker       breaker     `json:"breaker"`
	Day           rates       `json:"lastDay"`
	Week          rates       `json:"lastWeek"`
	Need          *model.Need `json:"need,omitempty"` // nil: nothing needs a person
}

// breaker is that of the node that answers.
type breaker struct {
	State     string    `json:"state"`
	NextProbe time.Time `json:"nextProbe,omitzero"`
}

// rates are the attempts of some time.
type rates struct {
	Attempts     int64    `json:"attempts"`
	Delivered    int64    `json:"delivered"`
	PartnerFault int64    `json:"partnerFault"`
	DataFault    int64    `json:"dataFault"`
	OurFault     int64    `json:"ourFault"`
	SuccessRate  *float64 `json:"successRate,omitempty"` // of the attempts, from 0 to 1; absent without any
	P50          float64  `json:"p50Ms,omitzero"`        // how long half of them took at most
	P95          float64  `json:"p95Ms,omitzero"`
}

func ratesOf(t model.Tally) rates {
	r := rates{Attempts: t.Attempts, Delivered: t.Delivered, PartnerFault: t.PartnerFault, DataFault: t.DataFault,
		OurFault: t.OurFault, P50: milliseconds(t.Quantile(0.5)), P95: milliseconds(t.Quantile(0.95))}
	if t.Attempts > 0 {
		rate := float64(t.Delivered) / float64(t.Attempts)
		r.SuccessRate = &rate
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func healthOf(s *gateway.Standing, now time.Time) health {
	h := health{
		integration: integrationOf(s.Integration, s.Status), State: s.State(), Since: s.Since(),
		Waiting: s.Waiting.Count, OldestWaiting: s.Waiting.Oldest, LastSuccess: s.Health.LastSuccess,
		Failures: s.Health.Failures, Breaker: breaker{State: "closed"},
		Day: ratesOf(s.Rates.Day), Week: ratesOf(s.Rates.Week), Need: s.Need(now),
	}
	h.Reason = cmp.Or(s.Reason(now), h.integration.Reason)
	if s.Gate.BreakerOpen {
		h.Breaker = breaker{State: "open", NextProbe: s.Gate.Probe}
	}
	return h
}

// hour is what the attempts of an hour came to.
type hour struct {
	Begin time.Time `json:"hour"`
	rates
}

// showHealth answers how an integration does, and its hours since a time; those of a day without one.
func showHealth(r *request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	since, err := instant(r.query, "since")
	if err != nil {
		return nil, err
	}
	now := r.now()
	if since.IsZero() {
		since = now.Add(-24 * time.Hour)
	}
	if first := now.Add(-store.HealthKept); since.Before(first) {
		since = first
	}
	all, err := r.standings([]*model.Tenant{r.tenant})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(s *gateway.Standing) bool { return s.Integration.Name == i.Name })
	if at < 0 { // it was removed meanwhile
		return nil, noIntegration
	}
	hours, err := r.db.ListHours(r.Context(), model.Place{Tenant: i.Tenant, Integration: i.Name}, since)
	if err != nil {
		return nil, err
	}
	shown := struct {
		health
		Hours []hour `json:"hours"` // those with attempts
	}{healthOf(all[at], now), []hour{}}
	for _, h := range hours {
		shown.Hours = append(shown.Hours, hour{h.Begin, ratesOf(h.Tally)})
	}
	return shown, nil
}

// standings are how the integrations of some tenants do, by tenant and name.
func (r *request) standings(tenants []*model.Tenant) ([]*gateway.Standing, error) {
	all, err := r.gateway.Runtime.Standings(r.Context(), r.gateway.Config, r.now())
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range tenants {
		seen[t.Name] = true
	}
	return slices.DeleteFunc(all, func(s *gateway.Standing) bool { return !seen[s.Integration.Tenant] }), nil
}

// maxStatus is how many integrations a status has at most, the worst ones.
const maxStatus = 500

// status is how all does that the caller sees.
type status struct {
	Needs        []model.Need `json:"needs"`        // what a person has to look at, the worst first
	Integrations []health     `json:"integrations"` // the worst first, at most 500
	Omitted      int          `json:"omitted"`      // how many more integrations there are
}

// showStatus answers what needs a person.
func showStatus(r *request) (any, error) {
	all, err := r.standings(r.tenants())
	if err != nil {
		return nil, err
	}
	now := r.now()
	shown := status{Needs: []model.Need{}, Integrations: make([]health, len(all))}
	for n, s := range all {
		shown.Integrations[n] = healthOf(s, now)
	}
	slices.SortStableFunc(shown.Integrations, worseFirst)
	for _, h := range shown.Integrations {
		if h.Need != nil && len(shown.Needs) < maxStatus {
			shown.Needs = append(shown.Needs, *h.Need)
		}
	}
	if n := len(shown.Integrations) - maxStatus; n > 0 {
		shown.Integrations, shown.Omitted = shown.Integrations[:maxStatus], n
	}
	others, err := r.gateway.Runtime.Needs(r.Context(), now)
	if err != nil {
		return nil, err
	}
	for _, need := range others {
		if r.caller.sees(need.Tenant) {
			shown.Needs = append(shown.Needs, need)
		}
	}
	return shown, nil
}

// worseFirst orders integrations: those that need a person, then by what waits for them, and for how long.
func worseFirst(a, b health) int {
	switch {
	case a.Need != nil && b.Need == nil:
		return -1
	case a.Need == nil && b.Need != nil:
		return 1
	}
	return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), a.OldestWaiting.Compare(b.OldestWaiting))
}
