// Package metricstest reads the metrics of a test's process.
package metricstest

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/metrics"
)

// Gauge is the value of a gauge without labels.
func Gauge(t *testing.T, name string) float64 {
	t.Helper()
	for _, value := range values(t, name) {
		return value
	}
	require.FailNow(t, "there is no such metric", name)
	return 0
}

// Counter is the value of a counter whose labels have these values, in the order of their names; 0: there is none.
func Counter(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	return values(t, name)[strings.Join(labels, " ")]
}

// values returns the values of a metric, by the values of its labels.
func values(t *testing.T, name string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, one := range family.GetMetric() {
			var labels []string
			for _, label := range one.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			all[strings.Join(labels, " ")] = one.GetGauge().GetValue() + one.GetCounter().GetValue()
		}
	}
	return all
}
