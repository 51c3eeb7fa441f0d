package manageapi

import (
	"cmp"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// overviewBack is how far back the overview goes.
const overviewBack = 7 * 24 * time.Hour

// showOverview answers what came, was delivered and waited since a time; without it, in the last 24 hours: of a tenant,
// or of all that the caller sees.
func showOverview(r *rest.Request) (any, error) {
	tenant := cmp.Or(r.Query.Get("tenant"), r.Caller.Tenant)
	if !r.Caller.Sees(tenant) {
		return nil, rest.NoTenant(tenant)
	}
	since, err := r.Since(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	if first := r.Now().Add(-overviewBack); since.Before(first) {
		since = first
	}
	quarters, err := r.DB.ListQuarters(r.Context(), tenant, since)
	shown := api.Overview{Quarters: []api.Quarter{}}
	for _, q := range quarters {
		shown.Quarters = append(shown.Quarters, api.Quarter{Begin: q.Begin, Received: q.Received, Delivered: q.Delivered,
			Waiting: q.Waiting, Oldest: q.Oldest.Seconds()})
	}
	return shown, err
}
