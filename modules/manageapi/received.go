package manageapi

import (
	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func countReceived(r *rest.Request) (any, error) {
	since, results, err := metrics.ReceivedOf(r.Tenant.Name)
	return api.ReceivedCounts{Since: since.UTC(), Results: results}, err
}
