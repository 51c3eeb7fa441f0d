package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	loopExpected = collected(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hiregate_loop_expected_timestamp_seconds",
		Help: "Until when a loop of the gateway's background work has to show that it is alive; a loop is late once that is past.",
	}, []string{"loop"}))
	loopPanics = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_loop_panics_total", Help: "Rounds of a loop of the gateway's background work that panicked.",
	}, []string{"loop"}))
)

// LoopBegan shows that a loop has not panicked: the first time it does is an increase.
func LoopBegan(name string) { loopPanics.WithLabelValues(name) }

// LoopExpected notes until when a loop has to show that it is alive.
func LoopExpected(name string, until time.Time) {
	loopExpected.WithLabelValues(name).Set(float64(until.UnixMilli()) / 1000)
}

// LoopPanicked counts a round of a loop that panicked.
func LoopPanicked(name string) { loopPanics.WithLabelValues(name).Inc() }
