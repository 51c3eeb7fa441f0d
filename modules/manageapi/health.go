package manageapi

import (
	"cmp"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func tallyOf(t model.Tally) api.Tally {
	return api.Tally{Attempts: t.Attempts, Delivered: t.Delivered, PartnerFault: t.PartnerFault, DataFault: t.DataFault,
		OurFault: t.OurFault}
}

func ratesOf(t model.Tally) api.Rates {
	r := api.Rates{Tally: tallyOf(t), P50: milliseconds(t.Quantile(0.5)), P95: milliseconds(t.Quantile(0.95))}
	if t.Attempts > 0 {
		rate := float64(t.Delivered) / float64(t.Attempts)
		r.SuccessRate = &rate
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// healthOf returns how an integration does, without rates.
func healthOf(s *gateway.Standing, now time.Time) api.IntegrationHealth {
	h := api.IntegrationHealth{
		Integration: integrationOf(s.Integration, s.Status), State: s.State(), Since: s.Since(),
		Waiting: s.Waiting.Count, OldestWaiting: s.Waiting.Oldest, LostAt: s.Waiting.Ends,
		LastSuccess: s.Health.LastSuccess, Failures: s.Health.Failures, Breaker: api.Breaker{State: "closed"},
		Need: s.Need(now),
	}
	h.Reason = cmp.Or(s.Reason(now), h.Integration.Reason)
	h.Why = model.ParseReason(h.Reason)
	if s.Gate.BreakerOpen {
		h.Breaker = api.Breaker{State: "open", NextProbe: s.Gate.Probe}
	}
	return h
}

// showHealth answers how an integration does, and its hours since a time; without it, those of the last 24 hours.
func showHealth(r *rest.Request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	since, err := r.Since(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	if first := now.Add(-store.HealthKept); since.Before(first) {
		since = first
	}
	all, err := standingsOf(r, []*model.Tenant{r.Tenant})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(s *gateway.Standing) bool { return s.Integration.Name == i.Name })
	if at < 0 { // it was removed meanwhile
		return nil, noIntegration
	}
	hours, err := r.DB.ListHours(r.Context(), model.Place{Tenant: i.Tenant, Integration: i.Name}, since)
	if err != nil {
		return nil, err
	}
	shown := api.IntegrationHours{IntegrationHealth: healthOf(all[at], now), Hours: []api.Hour{}}
	if err := addRates(r, now, &shown.IntegrationHealth); err != nil {
		return nil, err
	}
	shown.SameURL = sharing(r, i)
	if shown.RotatedBy, err = rotatedBy(r, i); err != nil {
		return nil, err
	}
	for _, h := range hours {
		shown.Hours = append(shown.Hours, api.Hour{Begin: h.Begin, Rates: ratesOf(h.Tally)})
	}
	return shown, nil
}

// rotatedBy returns who began the rotation of an integration's secret: the author of its first change from then on. nil: it
// is not known.
func rotatedBy(r *rest.Request, i *model.Integration) (*model.Author, error) {
	if i.RotatedAt.IsZero() {
		return nil, nil
	}
	changes, _, err := r.DB.ListAudit(r.Context(), store.AuditFilter{Tenant: i.Tenant, Object: "integrations/" + i.Name,
		Since: i.RotatedAt.Truncate(time.Microsecond), Until: i.RotatedAt.Add(time.Minute), Limit: store.MaxPage})
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return &changes[len(changes)-1].Author, nil
}

// standingsOf returns how the integrations of some tenants do, by tenant and name.
func standingsOf(r *rest.Request, tenants []*model.Tenant) ([]*gateway.Standing, error) {
	all, err := r.Gateway.Runtime.Standings(r.Context(), r.Gateway.Config)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range tenants {
		seen[t.Name] = true
	}
	return slices.DeleteFunc(all, func(s *gateway.Standing) bool { return !seen[s.Integration.Tenant] }), nil
}

// addRates adds to integrations the rates of the last day and week.
func addRates(r *rest.Request, now time.Time, all ...*api.IntegrationHealth) error {
	for some := range slices.Chunk(all, store.MaxPage) {
		places := make([]model.Place, len(some))
		for n, h := range some {
			places[n] = model.Place{Tenant: h.Tenant, Integration: h.Name}
		}
		sums, err := r.DB.SumHours(r.Context(), now, places...)
		if err != nil {
			return err
		}
		for n, h := range some {
			h.Day, h.Week = ratesOf(sums[places[n]].Day), ratesOf(sums[places[n]].Week)
		}
	}
	return nil
}
