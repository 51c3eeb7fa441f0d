// Package metricstest reads the metrics of a test's process.
package metricstest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/metrics"
)

// Gauge is the value of a gauge without labels.
func Gauge(t *testing.T, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.FailNow(t, "there is no such metric", name)
	return 0
}
