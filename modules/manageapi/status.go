package manageapi

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// maxStatus is the most integrations, needs and deviations that a status has: the worst ones.
const maxStatus = 500

// maxStatusHours is the most hours that a status has of each integration: two days.
const maxStatusHours = 48

// maxStatusFrom is how many needs, and integrations, a status may pass over.
const maxStatusFrom = 1_000_000

// statusAsked has the parameters of a status.
type statusAsked struct {
	hours, limit, from int
	byName             bool   // the integrations, and not the worst first
	grouped            bool   // needs of the same cause are one
	labelled           bool   // of the tenants that have a label
	tenant             string // empty: all that the caller sees
}

// comesTo reports whether a status is about a tenant: the one that was asked for, one of those with the label, or any.
func (a statusAsked) comesTo(some []*model.Tenant, tenant string) bool {
	switch {
	case a.tenant != "":
		return tenant == a.tenant
	case !a.labelled:
		return true
	}
	return slices.ContainsFunc(some, func(t *model.Tenant) bool { return t.Name == tenant })
}

func statusAskedOf(r *rest.Request) (a statusAsked, err error) {
	for _, one := range []struct {
		name string
		most int
		into *int
	}{{"hours", maxStatusHours, &a.hours}, {"limit", maxStatus, &a.limit}, {"from", maxStatusFrom, &a.from}} {
		if *one.into, err = rest.Number(r.Query, one.name, one.most); err != nil {
			return a, err
		}
	}
	a.limit, a.tenant, a.labelled = cmp.Or(a.limit, maxStatus), r.Query.Get("tenant"), r.Query.Has("label")
	if a.grouped = r.Query.Get("grouped") == "true"; r.Query.Has("grouped") && !a.grouped {
		return a, problem.New(http.StatusBadRequest, "grouped can only be true: leave it out for a need of each integration")
	}
	switch order := r.Query.Get("order"); {
	case order == "name":
		a.byName = true
	case order != "":
		return a, problem.New(http.StatusBadRequest, "order can only be name: leave it out for the worst first")
	}
	if a.tenant != "" && !r.Caller.Sees(a.tenant) {
		return a, rest.NoTenant(a.tenant)
	}
	return a, nil
}

// showStatus answers what needs a person. With hours, it has the last ones of each integration, the present one included.
func showStatus(r *rest.Request) (any, error) {
	asked, err := statusAskedOf(r)
	if err != nil {
		return nil, err
	}
	tenants, err := labelledTenants(r)
	if err != nil {
		return nil, err
	}
	if asked.tenant != "" {
		tenants = slices.DeleteFunc(tenants, func(t *model.Tenant) bool { return t.Name != asked.tenant })
	}
	all, err := standingsOf(r, tenants)
	if err != nil && r.Gateway.Runtime.Damage().Since.IsZero() { // which the needs name
		return nil, err
	}
	now := r.Now()
	shown := api.GatewayStatus{Needs: []model.Need{}, NeedsOf: map[string]int64{}, Deviations: []api.Remark{},
		States: map[string]int64{}, Quiet: map[string]int64{}}
	if again := r.Gateway.Runtime.Again; !again.At.IsZero() && r.Caller.Tenant == "" {
		shown.ErasedAgain = &api.ErasedAgain{At: again.At, Entries: again.Entries, Exports: again.Exports,
			Candidates: again.Candidates}
	}
	if shown.Clocks, err = clocksOf(r, asked, tenants, all); err != nil && r.Gateway.Runtime.Damage().Since.IsZero() {
		return nil, err
	}
	integrations := make([]api.StatusIntegration, len(all))
	for n, s := range all {
		integrations[n].IntegrationHealth = healthOf(s, now)
	}
	if err := addCauses(r, &shown, asked.grouped, all, integrations); err != nil && r.Gateway.Runtime.Damage().Since.IsZero() {
		return nil, err
	}
	for n := range integrations {
		countIn(&shown, &integrations[n])
	}
	slices.SortStableFunc(integrations, worseFirst)
	first, err := addNeeds(r, &shown, asked, tenants, integrations)
	if err != nil {
		return nil, err
	}
	from := max(0, asked.from-first) // those that the needs concern
	if asked.byName {
		from = asked.from
		slices.SortStableFunc(integrations, func(a, b api.StatusIntegration) int {
			return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
		})
	}
	shown.Integrations, shown.Omitted = window(integrations, from, asked.limit)
	rated := make([]*api.IntegrationHealth, len(shown.Integrations))
	for n := range shown.Integrations {
		rated[n] = &shown.Integrations[n].IntegrationHealth
	}
	if err := addRates(r, now, rated...); err != nil && r.Gateway.Runtime.Damage().Since.IsZero() {
		return nil, err
	}
	if asked.hours > 0 {
		if err := addHours(r, shown.Integrations, now.Add(time.Duration(1-asked.hours)*time.Hour)); err != nil {
			return nil, err
		}
	}
	deviations, err := r.DB.ListRemarks(r.Context(), model.DeviationAccepted, asked.tenant, now)
	for _, m := range deviations {
		if r.Caller.Sees(m.Tenant) && asked.comesTo(tenants, m.Tenant) && len(shown.Deviations) < maxStatus {
			shown.Deviations = append(shown.Deviations, remarkOf(m))
		}
	}
	return shown, err
}

// countIn counts an integration in what a status says of all.
func countIn(shown *api.GatewayStatus, i *api.StatusIntegration) {
	shown.States[i.State]++
	shown.Waiting += i.Waiting
	if i.Need != nil {
		shown.Stuck += i.Waiting
	} else {
		shown.Quiet[i.State]++
	}
	if i.Waiting > 0 && (shown.OldestWaiting.IsZero() || i.OldestWaiting.Before(shown.OldestWaiting)) {
		shown.OldestWaiting = i.OldestWaiting
	}
}

// addNeeds adds what needs a person: first what concerns all tenants, then the integrations, the worst first, and the rest. It
// returns how many come before those of integrations, and orders these as their needs are.
func addNeeds(r *rest.Request, shown *api.GatewayStatus, asked statusAsked, tenants []*model.Tenant,
	integrations []api.StatusIntegration) (first int, err error) {
	others, err := r.Gateway.Runtime.Needs(r.Context(), r.Now())
	if err != nil {
		return 0, err
	}
	var needs, later []model.Need
	for _, need := range others {
		switch {
		case !r.Caller.Sees(need.Tenant) || need.Tenant != "" && !asked.comesTo(tenants, need.Tenant):
		case need.Tenant == "":
			needs = append(needs, need)
		default:
			later = append(later, need)
		}
	}
	first = len(needs)
	var own []model.Need
	for _, h := range integrations {
		if h.Need != nil {
			own = append(own, *h.Need)
		}
	}
	for _, need := range slices.Concat(needs, own, later) {
		shown.NeedsOf[need.Tenant]++
	}
	if asked.grouped {
		own = groupNeeds(own)
		leadWith(integrations, own)
	}
	needs = slices.Concat(needs, own, later)
	some, omitted := window(needs, asked.from, asked.limit)
	shown.Needs, shown.OmittedNeeds = append(shown.Needs, some...), omitted
	return first, nil
}

// leadWith has the integrations that needs name come first, in their order.
func leadWith(integrations []api.StatusIntegration, needs []model.Need) {
	place := map[model.Place]int{}
	for n, need := range needs {
		place[model.Place{Tenant: need.Tenant, Integration: need.Integration}] = n + 1
	}
	at := func(i *api.StatusIntegration) int {
		return cmp.Or(place[model.Place{Tenant: i.Tenant, Integration: i.Name}], len(needs)+1)
	}
	slices.SortStableFunc(integrations, func(a, b api.StatusIntegration) int { return cmp.Compare(at(&a), at(&b)) })
}

// window returns up to limit of some after the first ones, and how many those leave out.
func window[T any](all []T, from, limit int) (some []T, omitted int) {
	some = all[min(from, len(all)):min(from+limit, len(all))]
	return some, len(all) - len(some)
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
