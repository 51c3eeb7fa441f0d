package manageapi

import (
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// lostWithin is for how long the clocks count what was lost.
const lostWithin = 24 * time.Hour

// clocksOf returns the two clocks of some integrations, and of the documents of their tenants.
func clocksOf(r *rest.Request, asked statusAsked, tenants []*model.Tenant, all []*gateway.Standing) (c api.Clocks, err error) {
	only, seen := asked.tenant, map[string]bool{}
	if only == "" {
		only = r.Caller.Tenant
	}
	for _, t := range tenants {
		seen[t.Name] = true
	}
	for _, s := range all {
		c.Delivery.Waiting += s.Waiting.Count
		c.Delivery.Held += s.Waiting.Held
		c.Delivery.LostAt = sooner(c.Delivery.LostAt, s.Waiting.Ends)
	}
	since := r.Now().Add(-lostWithin)
	ended, err := r.DB.CountFailures(r.Context(), only, since)
	if err != nil {
		return c, err
	}
	for _, f := range ended {
		if seen[f.Tenant] {
			c.Delivery.Lost += f.Count
		}
	}
	unfetched, more, err := r.DB.ListUnfetched(r.Context(), only)
	if err != nil {
		return c, err
	}
	c.Documents.More = more
	for tenant, u := range unfetched {
		if seen[tenant] {
			c.Documents.ToFetch += u.Count
			c.Documents.Late += u.Late
			c.Documents.LostAt = sooner(c.Documents.LostAt, u.Till)
		}
	}
	lost, err := r.DB.CountLost(r.Context(), only, since)
	for tenant, l := range lost {
		if seen[tenant] {
			c.Documents.Lost.Service += l.Service
			c.Documents.Lost.Ours += l.Ours
		}
	}
	return c, err
}

// sooner returns the earlier of two times; zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
