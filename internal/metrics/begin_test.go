package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// What alerts watch is there with 0 for each tenant that has a label, and for the others together.
func TestCountersOfTenantsBeginWithZero(t *testing.T) {
	forget(t)
	reset := func() {
		for _, c := range []*prometheus.CounterVec{received, applications, documentsUnreadable} {
			c.Reset()
		}
	}
	reset()
	t.Cleanup(reset)
	Tenants(map[string]Tenant{"acme": {LostDocuments: 2}, "globex": {Faulty: 3}})
	require.Equal(t, standings{{"acme"}: 2, {"globex"}: 0}, lostDocuments.now)
	require.Equal(t, standings{{"acme"}: 0, {"globex"}: 3}, faultyExports.now)
	require.Equal(t, 2*12, testutil.CollectAndCount(received))
	require.Equal(t, 2*5, testutil.CollectAndCount(applications))
	require.Equal(t, 2, testutil.CollectAndCount(documentsUnreadable))

	Received("acme", "CANDIDATE-EXPORT", "invalid")
	many := map[string]Tenant{"acme": {}}
	for n := range DefaultLabels {
		many[fmt.Sprint("tenant-", n)] = Tenant{Faulty: 1}
	}
	Tenants(many)
	require.Equal(t, standings{{"acme"}: 0, {otherLabel}: DefaultLabels}, faultyExports.now)
	require.EqualValues(t, 1, testutil.ToFloat64(received.WithLabelValues("acme", "CANDIDATE-EXPORT", "invalid")), "it began again")
	require.Equal(t, 3, testutil.CollectAndCount(documentsUnreadable), "acme, globex, and the others together")
}
