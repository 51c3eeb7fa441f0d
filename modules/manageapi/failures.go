package manageapi

import (
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// showFailures answers which deliveries failed since a time; without it, in the last 24 hours.
func showFailures(r *rest.Request) (any, error) {
	since, err := r.Since(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	groups, err := r.DB.CountFailures(r.Context(), r.Caller.Tenant, since)
	shown := api.Failures{Items: []api.FailureGroup{}}
	for _, f := range groups {
		shown.Items = append(shown.Items, api.FailureGroup{Tenant: f.Tenant, Integration: f.Integration, Outcome: f.Outcome,
			Class: f.Class, Status: f.Status, Count: f.Count, Oldest: f.Oldest, Newest: f.Newest, Last: f.Last})
	}
	return shown, err
}
