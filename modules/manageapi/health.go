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

func healthOf(s *gateway.Standing, now time.Time) api.IntegrationHealth {
	h := api.IntegrationHealth{
		Integration: integrationOf(s.Integration, s.Status), State: s.State(), Since: s.Since(),
		Waiting: s.Waiting.Count, OldestWaiting: s.Waiting.Oldest, LostAt: s.Waiting.Ends,
		LastSuccess: s.Health.LastSuccess, Failures: s.Health.Failures, Breaker: api.Breaker{State: "closed"},
		Day: ratesOf(s.Rates.Day), Week: ratesOf(s.Rates.Week), Need: s.Need(now),
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
	all, err := r.Gateway.Runtime.Standings(r.Context(), r.Gateway.Config, r.Now())
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range tenants {
		seen[t.Name] = true
	}
	return slices.DeleteFunc(all, func(s *gateway.Standing) bool { return !seen[s.Integration.Tenant] }), nil
}

// maxStatus is the most integrations that a status has: the worst ones.
const maxStatus = 500

// maxStatusHours is the most hours that a status has of each integration: two days.
const maxStatusHours = 48

// showStatus answers what needs a person. With hours, it has the last ones of each integration, the present one included.
func showStatus(r *rest.Request) (any, error) {
	hours, err := rest.Number(r.Query, "hours", maxStatusHours)
	if err != nil {
		return nil, err
	}
	all, err := standingsOf(r, visibleTenants(r))
	if err != nil && r.Gateway.Runtime.Damage().Since.IsZero() { // which the needs name
		return nil, err
	}
	now := r.Now()
	shown := api.GatewayStatus{Needs: []model.Need{}, Integrations: make([]api.StatusIntegration, len(all)),
		Deviations: []api.Remark{}, States: map[string]int64{}}
	if again := r.Gateway.Runtime.Again; !again.At.IsZero() && r.Caller.Tenant == "" {
		shown.ErasedAgain = &api.ErasedAgain{At: again.At, Entries: again.Entries, Exports: again.Exports,
			Candidates: again.Candidates}
	}
	for n, s := range all {
		shown.Integrations[n].IntegrationHealth = healthOf(s, now)
		shown.States[s.State()]++
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
	if hours > 0 {
		if err := addHours(r, shown.Integrations, now.Add(time.Duration(1-hours)*time.Hour)); err != nil {
			return nil, err
		}
	}
	others, err := r.Gateway.Runtime.Needs(r.Context(), now)
	if err != nil {
		return nil, err
	}
	for _, need := range others {
		if r.Caller.Sees(need.Tenant) {
			shown.Needs = append(shown.Needs, need)
		}
	}
	deviations, err := r.DB.ListRemarks(r.Context(), model.DeviationAccepted, "", now)
	for _, m := range deviations {
		if r.Caller.Sees(m.Tenant) && len(shown.Deviations) < maxStatus {
			shown.Deviations = append(shown.Deviations, remarkOf(m))
		}
	}
	return shown, err
}

// addHours adds to integrations their hours since a time.
func addHours(r *rest.Request, all []api.StatusIntegration, since time.Time) error {
	places := make([]model.Place, len(all))
	for n, i := range all {
		places[n] = model.Place{Tenant: i.Tenant, Integration: i.Name}
	}
	hours, err := r.DB.ListHoursOf(r.Context(), places, since)
	for n := range all {
		i := &all[n]
		i.Hours = []api.HourTally{}
		for _, h := range hours[places[n]] {
			i.Hours = append(i.Hours, api.HourTally{Begin: h.Begin, Tally: tallyOf(h.Tally)})
		}
	}
	return err
}

// worseFirst orders integrations: first those that need a person, then by the number and the age of waiting exports.
func worseFirst(a, b api.StatusIntegration) int {
	switch {
	case a.Need != nil && b.Need == nil:
		return -1
	case a.Need == nil && b.Need != nil:
		return 1
	}
	return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), a.OldestWaiting.Compare(b.OldestWaiting))
}
