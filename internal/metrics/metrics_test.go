package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestNoTenantIsUnknown(t *testing.T) {
	require.Error(t, hiring.CheckTenantName(Unknown))
}

func TestCountersOutliveARegistry(t *testing.T) {
	first, second := prometheus.NewRegistry(), prometheus.NewRegistry()
	require.NoError(t, Register(first))
	require.NoError(t, Register(first), "a second registration in one registry")
	Received("acme", "VERIFY", "verified")
	require.NoError(t, Register(second))
	Received("acme", "VERIFY", "verified")
	for _, r := range []*prometheus.Registry{first, second} {
		families, err := r.Gather()
		require.NoError(t, err)
		found := false
		for _, f := range families {
			if f.GetName() == "hiregate_received_total" {
				found = true
				require.Equal(t, 2.0, f.GetMetric()[0].GetCounter().GetValue())
			}
		}
		require.True(t, found)
	}
}

func TestTenantsBeyondTheBoundShareALabel(t *testing.T) {
	for n := range 2 * maxTenants {
		SameBody(fmt.Sprint("tenant-", n))
	}
	require.LessOrEqual(t, testutil.CollectAndCount(sameBody), maxTenants+1)
	require.GreaterOrEqual(t, testutil.ToFloat64(sameBody.WithLabelValues(otherTenant)), float64(maxTenants)-10)
}
