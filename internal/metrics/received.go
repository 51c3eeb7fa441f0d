package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// started is the time from which the counters count.
var started = time.Now()

// ReceivedOf returns how many webhook requests of a tenant had each result, and since when they are counted.
func ReceivedOf(tenant string) (since time.Time, results map[string]int64, err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(received); err != nil {
		return started, nil, err
	}
	families, err := registry.Gather()
	results = map[string]int64{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range one.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if n := int64(one.GetCounter().GetValue()); n > 0 && labels["tenant"] == tenant {
				results[labels["result"]] += n
			}
		}
	}
	return started, results, err
}
