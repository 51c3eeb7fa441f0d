package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	scans = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_scans_total", Help: "Scans of documents by what the scanner said: clean, refused, unknown (it " +
			"failed; the document waits).",
	}, []string{"result"}))
	scansPending = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_scans_pending", Help: "Documents that are withheld until their scan has ended.",
	}))
)

// init makes the counters exist from the start: only then does the first count show in a rate.
func init() {
	for _, result := range []string{"clean", "refused", "unknown"} {
		scans.WithLabelValues(result)
	}
}

// Scan counts what a scanner said of a document.
func Scan(result string) { scans.WithLabelValues(result).Inc() }

// CountPendingScans sets how many documents wait for their scan.
func ScansPending(n int64) { scansPending.Set(float64(n)) }
