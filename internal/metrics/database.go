package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	databaseUp = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_database_up", Help: "1 if the database could be written when it was last tried, else 0.",
	}))
	databaseDamaged = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_database_damaged", Help: "1 if the database said in the last hour that it is damaged, or is; else 0.",
	}))
	databaseBytes = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_database_bytes", Help: "Size of the database, without its write-ahead log.",
	}))
	walBytes = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_sqlite_wal_bytes", Help: "Size of SQLite's write-ahead log.",
	}))
	commits = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_store_commits_total", Help: "Transactions committed.",
	}))
	writes = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_store_writes_total", Help: "Writes in those transactions; divided by " +
			"hiregate_store_commits_total: how many share a disk sync.",
	}))
	roundTrips = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_store_round_trips_total", Help: "Round trips to PostgreSQL of those transactions.",
	}))
	writesWaiting = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_store_writes_waiting", Help: "Writes that wait for the transaction before them.",
	}))
	temporalUp = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_temporal_up", Help: "1 if Temporal answered the last request, else 0.",
	}))
	startedSeconds = collected(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "hiregate_dispatch_seconds", Help: "Time that Temporal took to start a workflow of exports.",
	}))
	startedExports = collected(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "hiregate_dispatch_exports", Help: "Exports of a workflow that was started.",
		Buckets: []float64{1, 5, 20, 50, 100, 200},
	}))
)

// Database sets whether the database can be written.
func Database(up bool) { databaseUp.Set(number(up)) }

// DatabaseDamaged sets whether the database is known to be damaged.
func DatabaseDamaged(damaged bool) { databaseDamaged.Set(number(damaged)) }

// DatabaseSize sets the sizes of the database and of SQLite's write-ahead log in bytes.
func DatabaseSize(bytes, wal int64) {
	databaseBytes.Set(float64(bytes))
	walBytes.Set(float64(wal))
}

// Writes counts further transactions, the writes they held and their round trips, and sets how many writes wait.
func Writes(committed, written, trips int64, waiting int) {
	commits.Add(float64(committed))
	writes.Add(float64(written))
	roundTrips.Add(float64(trips))
	writesWaiting.Set(float64(waiting))
}

// Temporal sets whether Temporal answers.
func Temporal(up bool) { temporalUp.Set(number(up)) }

// Started observes how long Temporal took to start a workflow, and for how many exports it is.
func Started(took time.Duration, exports int) {
	startedSeconds.Observe(took.Seconds())
	startedExports.Observe(float64(exports))
}
