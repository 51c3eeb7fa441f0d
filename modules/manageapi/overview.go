package manageapi

import (
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// overviewBack is how far back the overview goes.
const overviewBack = 7 * 24 * time.Hour

// showOverview answers what came, was delivered and waited since a time; without it, in the last 24 hours.
func showOverview(r *rest.Request) (any, error) {
	since, err := r.Since(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	if first := r.Now().Add(-overviewBack); since.Before(first) {
		since = first
	}
	quarters, err := r.DB.ListQuarters(r.Context(), r.Caller.Tenant, since)
	shown := api.Overview{Quarters: []api.Quarter{}}
	for _, q := range quarters {
		shown.Quarters = append(shown.Quarters, api.Quarter{Begin: q.Begin, Received: q.Received, Delivered: q.Delivered,
			Waiting: q.Waiting, Oldest: q.Oldest.Seconds()})
	}
	return shown, err
}
