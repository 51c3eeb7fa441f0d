package manageapi

import (
	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/metrics"
)

func countReceived(r *request) (any, error) {
	since, results, err := metrics.ReceivedOf(r.tenant.Name)
	return api.ReceivedCounts{Since: since.UTC(), Results: results}, err
}
