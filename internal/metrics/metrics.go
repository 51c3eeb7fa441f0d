// Package metrics holds the Prometheus collectors. They are made once per process and registered again on the registry
// of every configuration, so that a counter never falls at a reload. Labels hold names from the configuration and fixed
// words, never anything of a candidate.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hiregate/hiregate/internal/model"
)

var (
	received = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_received_total", Help: "Webhook requests by tenant, event and result.",
	}, []string{"tenant", "event", "result"}))
	bodyBytes = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_unverified_body_bytes", Help: "Memory of request bodies whose sender is not verified yet.",
	}))
	requestsRefused = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_requests_refused_total", Help: "Requests that were refused since too many were in progress.",
	}))
	sameBody = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_received_same_body_total",
		Help: "Exports accepted with a body that the tenant had sent before under another UUID.",
	}, []string{"tenant"}))
	deviations = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_deviations_total",
		Help: "Exports accepted with a listed deviation from the contract, by tenant and deviation.",
	}, []string{"tenant", "deviation"}))
	ackSeconds = collected(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "hiregate_ack_seconds", Help: "Time from an export's first byte to its durable acknowledgement.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}))
	deliveries = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_deliveries_total", Help: "Changes of deliveries to an outcome class, by tenant and integration; " +
			"retrying counts each failed attempt.",
	}, []string{"tenant", "integration", "class"}))
	notReceived = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_attempts_not_received_total", Help: "Attempts that were not received, by tenant, integration " +
			"and cause: egress, dns, connection_refused, connect, tls, timeout, closed, protocol, or the answer's status.",
	}, []string{"tenant", "integration", "cause"}))
	attemptSeconds = collected(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "hiregate_delivery_attempt_seconds", Help: "Time of one delivery attempt, answered or not.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
	}))
	attemptsUnderWay = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_delivery_attempts_under_way", Help: "Delivery attempts in progress.",
	}))
	attemptBytes = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_delivery_attempt_bytes",
		Help: "Approximate bytes of memory of the bodies of the attempts in progress.",
	}))
	deferred = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_deliveries_deferred_total", Help: "Attempts that were due and had to wait, by tenant and reason: " +
			"at_capacity, over_rate and breaker_open of the integration; no_place, no_memory: the tenant has its share; " +
			"store_unavailable: outcomes can't be stored.",
	}, []string{"tenant", "reason"}))
	unreadable = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_deliveries_unreadable_total",
		Help: "Deliveries that failed because what is stored of their export can't be read, by tenant.",
	}, []string{"tenant"}))
	verifications = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_verifications_total", Help: "VERIFY events sent, by tenant, integration and result.",
	}, []string{"tenant", "integration", "result"}))
	documents = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_documents_total", Help: "Documents by what became of fetching them: fetched, expired (their " +
			"window ended), given_up.",
	}, []string{"tenant", "result"}))
	documentsUnreadable = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_documents_unreadable_total",
		Help: "Documents that were to be downloaded and whose file is damaged, gone or can't be read, by tenant.",
	}, []string{"tenant"}))
	documentBytes = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_document_bytes_total", Help: "Bytes of the documents that were fetched.",
	}))
	windowLeft = collected(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "hiregate_document_window_left_seconds",
		Help:    "How much of its 2 h 30 min a document's URL had left when it was fetched.",
		Buckets: []float64{0, 60, 300, 900, 1800, 3600, 5400, 7200, 8400, 8700, 8940, 9000},
	}))
	unfetched = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_documents_unfetched", Help: "Documents of exports that are still to be fetched.",
	}))
	late = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_documents_late", Help: "Documents of exports that are late: tried in vain, and still to be fetched.",
	}))
	leastLeft = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_documents_unfetched_window_seconds",
		Help: "Time until the first document that is still to be fetched is lost; its whole window when there are none.",
	}))
	documentsFree = collected(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hiregate_documents_free_bytes",
		Help: "Free space of the file system of the documents folder; absent where it is not known, as of a bucket.",
	}, nil))
	dispatched = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_dispatches_total", Help: "Workflow starts asked of Temporal, by result: started, repeated, " +
			"unavailable, refused; and lost: Temporal no longer knew the workflow.",
	}, []string{"result"}))
	erased = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_exports_erased_total", Help: "Exports whose content was erased, by retention or on request.",
	}))
	deleted = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_exports_deleted_total", Help: "Exports that retention deleted with all that was stored of them.",
	}))
	retentionDue = collected(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hiregate_retention_due", Help: "Exports older than retention that this gateway is still to look at, " +
			"10,000 at most, by what is to go: content or rows.",
	}, []string{"what"}))
	retentionLate = collected(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hiregate_retention_late_seconds",
		Help: "For how long the oldest finished export is older than retention, by what is to go: content or rows.",
	}, []string{"what"}))
	filesStuck = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_files_stuck", Help: "Unneeded files that the last sweep could not remove.",
	}))
	orphans = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_stray_workflows",
		Help: "Open workflows whose exports the database lacked when that was last compared, an hour ago at most.",
	}))
	workflowFaults = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_workflow_faults_total",
		Help: "Runs of workflows and activities whose code failed, by reason: panic, non_determinism or error.",
	}, []string{"name", "reason"}))
	namespaceForeign = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_namespace_foreign",
		Help: "1 while the namespace of Temporal belongs to another database, and nothing is delivered; else 0.",
	}))
	undispatched = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_inbox_undispatched", Help: "Accepted exports whose workflow was not started yet.",
	}))
	undispatchedAge = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_inbox_undispatched_oldest_seconds",
		Help: "Age of the oldest accepted export whose workflow was not started yet; 0 when there is none.",
	}))
)

// all are the collectors of the package.
var all []prometheus.Collector

// collected adds a collector to all; the package makes none otherwise.
func collected[C prometheus.Collector](c C) C {
	all = append(all, c)
	return c
}

func init() { // they are shown from the start
	RetentionDue("content", 0, 0)
	RetentionDue("rows", 0, 0)
}

// Register adds the collectors to a registry; those it has already are left.
func Register(r prometheus.Registerer) error {
	for _, c := range all {
		var already prometheus.AlreadyRegisteredError
		if err := r.Register(c); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// integrationLabels bounds the labels of an integration by those of its tenant.
func integrationLabels(tenant, integration string) (string, string) {
	if tenant = tenants.value(tenant); tenant == otherLabel {
		return otherLabel, otherLabel
	}
	return tenant, integration
}

// Unknown stands for the tenant or event of a request that names none of ours: its own words must not become a label.
// No tenant has this name (model.ValidateTenantName).
const Unknown = "unknown"

// Received counts a webhook request. tenant and event are Unknown if the request names none of ours.
func Received(tenant, event, result string) {
	if tenant != Unknown {
		tenant = tenants.value(tenant)
	}
	received.WithLabelValues(tenant, event, result).Inc()
}

// BodyBytes adds to the memory of unverified bodies.
func BodyBytes(change int64) { bodyBytes.Add(float64(change)) }

// RequestRefused counts a request that was refused since too many were in progress.
func RequestRefused() { requestsRefused.Inc() }

// SameBody counts an export that was accepted with a body that had come under another UUID.
func SameBody(tenant string) { sameBody.WithLabelValues(tenants.value(tenant)).Inc() }

// Deviation counts an export that was accepted with a listed deviation.
func Deviation(tenant, name string) { deviations.WithLabelValues(tenants.value(tenant), name).Inc() }

// Acknowledged observes how long an export waited for its acknowledgement.
func Acknowledged(d time.Duration) { ackSeconds.Observe(d.Seconds()) }

// Delivery counts a delivery that reached a class.
func Delivery(tenant, integration string, class model.Class) {
	tenant, integration = integrationLabels(tenant, integration)
	deliveries.WithLabelValues(tenant, integration, string(class)).Inc()
}

// NotReceived counts an attempt that was not received, by its cause in a fixed word.
func NotReceived(tenant, integration, cause string) {
	tenant, integration = integrationLabels(tenant, integration)
	notReceived.WithLabelValues(tenant, integration, cause).Inc()
}

// Attempt observes how long a delivery attempt took.
func Attempt(d time.Duration) { attemptSeconds.Observe(d.Seconds()) }

// UnderWay adds to the attempts that are being made, and to the bytes of their bodies.
func UnderWay(attempts int, bytes int64) {
	attemptsUnderWay.Add(float64(attempts))
	attemptBytes.Add(float64(bytes))
}

// Deferred counts an attempt that was due and had to wait.
func Deferred(tenant, reason string) { deferred.WithLabelValues(tenants.value(tenant), reason).Inc() }

// Unreadable counts a delivery that failed because what is stored of its export can't be read.
func Unreadable(tenant string) { unreadable.WithLabelValues(tenants.value(tenant)).Inc() }

// Verification counts a VERIFY event that was sent.
func Verification(tenant, integration string, configured bool) {
	tenant, integration = integrationLabels(tenant, integration)
	result := "refused"
	if configured {
		result = "configured"
	}
	verifications.WithLabelValues(tenant, integration, result).Inc()
}

// DocumentFetched counts a document, its bytes, and how much of its window was left.
func DocumentFetched(tenant string, bytes int64, left time.Duration) {
	documents.WithLabelValues(tenants.value(tenant), "fetched").Inc()
	documentBytes.Add(float64(bytes))
	windowLeft.Observe(left.Seconds())
}

// DocumentLost counts a document that will not come: its window ended, or fetching it was given up.
func DocumentLost(tenant string, expired bool) {
	result := "given_up"
	if expired {
		result = "expired"
	}
	documents.WithLabelValues(tenants.value(tenant), result).Inc()
}

// DocumentUnreadable counts a document that was to be downloaded and whose file can't be read.
func DocumentUnreadable(tenant string) {
	documentsUnreadable.WithLabelValues(tenants.value(tenant)).Inc()
}

// DocumentsUnfetched sets how many documents are still to be fetched, how many of them are late, and how long until the
// first of them is lost.
func DocumentsUnfetched(n, tried int64, left time.Duration) {
	unfetched.Set(float64(n))
	late.Set(float64(tried))
	leastLeft.Set(max(0, left.Seconds()))
}

// DocumentsFree sets the free space for documents.
func DocumentsFree(bytes int64) { documentsFree.WithLabelValues().Set(float64(bytes)) }

// DocumentsFreeUnknown says that the free space for documents can't be told, so that no alert takes it for none.
func DocumentsFreeUnknown() { documentsFree.Reset() }

// Dispatched counts a workflow start by its result.
func Dispatched(result string) { DispatchedGroup(result, 1) }

// DispatchedGroup counts the start of a workflow for so many exports by its result.
func DispatchedGroup(result string, exports int) {
	dispatched.WithLabelValues(result).Add(float64(exports))
}

// Erased counts exports whose content was erased.
func Erased(exports int) { erased.Add(float64(exports)) }

// Deleted counts exports that were deleted.
func Deleted(exports int) { deleted.Add(float64(exports)) }

// RetentionDue sets how many exports retention is still to look at, and for how long the oldest has been due. what is
// content or rows.
func RetentionDue(what string, exports int, late time.Duration) {
	retentionDue.WithLabelValues(what).Set(float64(exports))
	retentionLate.WithLabelValues(what).Set(late.Seconds())
}

// FilesStuck sets how many files could not be removed.
func FilesStuck(n int) { filesStuck.Set(float64(n)) }

// WorkflowFault counts a run of a workflow or an activity whose code failed.
func WorkflowFault(name, reason string) { workflowFaults.WithLabelValues(name, reason).Inc() }

// Orphans sets how many open workflows are of exports that the database lacks.
func Orphans(n int) { orphans.Set(float64(n)) }

// NamespaceForeign sets whether the namespace of Temporal belongs to another database.
func NamespaceForeign(foreign bool) { namespaceForeign.Set(number(foreign)) }

// Backlog sets how many exports wait for their workflow, and for how long the oldest has waited.
func Backlog(n int, age time.Duration) {
	undispatched.Set(float64(n))
	undispatchedAge.Set(max(0, age.Seconds()))
}
