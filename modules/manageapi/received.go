package manageapi

import (
	"time"

	"github.com/hiregate/hiregate/internal/metrics"
)

// receivedCounts are the requests at a tenant's hook that this process answered, by what became of them: accepted,
// quarantined, repeated, verified, or why they were refused, as hiregate_received_total has it.
type receivedCounts struct {
	Since   time.Time        `json:"since"` // when the process started
	Results map[string]int64 `json:"results"`
}

func countReceived(r *request) (any, error) {
	since, results, err := metrics.ReceivedOf(r.tenant.Name)
	return receivedCounts{since.UTC(), results}, err
}
