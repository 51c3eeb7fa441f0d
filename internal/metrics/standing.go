package metrics

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hiregate/hiregate/internal/model"
)

// The current state of the database, the same on every node that shares it.
var (
	configured = collected(newStanding("hiregate_integration_configured",
		"1 when exports may go to an integration, 0 while they are held for it.", "tenant", "integration"))
	held = collected(newStanding("hiregate_deliveries_held",
		"Deliveries that are held until their integration is configured.", "tenant", "integration"))
	waiting = collected(newStanding("hiregate_inbox_undispatched_oldest_of_tenant_seconds",
		"Age of a tenant's oldest export whose workflow was not started yet. Absent: none waits.", "tenant"))
	quarantine = collected(newStanding("hiregate_quarantined_exports",
		"Exports in quarantine, which wait to be released.", "tenant"))
	lostDocuments = collected(newStanding("hiregate_exports_with_lost_documents",
		"Exports of the last 14.5 hours of which a document was lost.", "tenant"))
	faultyExports = collected(newStanding("hiregate_faulty_exports", "Exports that go nowhere, each for a reason of its own.", "tenant"))
	tenantLabels  = collected(newStanding("hiregate_tenant_label",
		"1 for each label of a tenant, to be joined with: ten of a tenant at most.", "tenant", "name", "value"))
	secretsUsed = collected(newStanding("hiregate_secret_last_used_timestamp_seconds",
		"When an inbound secret was last used, by its number among those of the tenant. Absent: it was not.",
		"tenant", "secret"))
)

// Configured sets which integrations exist, and whether exports may go to them. Among those that share a label the
// lowest value counts.
func Configured(all map[model.Place]bool) {
	next, labelsOf := standings{}, labelsOf(all)
	for at, yes := range all {
		labels := labelsOf(at)
		if value, ok := next[labels]; yes && (!ok || value == 1) {
			next[labels] = 1
		} else {
			next[labels] = 0
		}
	}
	configured.set(next)
}

// Held sets how many deliveries are held for integrations.
func Held(all map[model.Place]int64) {
	next := standings{}
	for at, n := range all {
		next[place(at)] += float64(n)
	}
	held.set(next)
}

// Waiting sets for how long the oldest export of each tenant waits for its workflow.
func Waiting(all map[string]time.Duration) {
	next := standings{}
	for tenant, age := range all {
		labels := [3]string{tenants.value(tenant)}
		next[labels] = max(next[labels], age.Seconds())
	}
	waiting.set(next)
}

// Quarantined sets how many exports of tenants are in quarantine.
func Quarantined(all map[string]int64) {
	next := standings{}
	for tenant, n := range all {
		next[[3]string{tenants.value(tenant)}] += float64(n)
	}
	quarantine.set(next)
}

// SecretsUsed sets when the inbound secrets of tenants were last used, in their order; the zero time: they were not. Of
// tenants that share a label the latest use counts.
func SecretsUsed(all map[string][]time.Time) {
	next := standings{}
	for tenant, uses := range all {
		for n, at := range uses {
			if labels := [3]string{tenants.value(tenant), strconv.Itoa(n + 1)}; !at.IsZero() {
				next[labels] = max(next[labels], float64(at.Unix()))
			}
		}
	}
	secretsUsed.set(next)
}

// Tenant has the gauges of a tenant.
type Tenant struct {
	LostDocuments, Faulty int64
	Labels                model.Labels
}

// Tenants sets the gauges of all tenants. Their counters that an alert watches are there from then on.
func Tenants(all map[string]Tenant) {
	lost, faulty, labels, labelOf := standings{}, standings{}, standings{}, labelOf(len(all))
	for name, one := range all {
		tenant := labelOf(name)
		begin(tenant)
		lost[[3]string{tenant}] += float64(one.LostDocuments)
		faulty[[3]string{tenant}] += float64(one.Faulty)
		for label, value := range one.Labels {
			if tenant != otherLabel {
				labels[[3]string{tenant, label, value}] = 1
			}
		}
	}
	tenantLabels.set(labels)
	lostDocuments.set(lost)
	faultyExports.set(faulty)
}

// labelOf returns the labels of so many tenants. If there are more than labels, only those with traffic have one.
func labelOf(count int) func(tenant string) string {
	if tenants.hold(count) {
		return tenants.value
	}
	return tenants.known
}

// labelsOf returns the labels of those places.
func labelsOf[T any](all map[model.Place]T) func(model.Place) [3]string {
	there := map[string]bool{}
	for at := range all {
		there[at.Tenant] = true
	}
	labelOf := labelOf(len(there))
	return func(at model.Place) [3]string {
		if tenant := labelOf(at.Tenant); tenant != otherLabel {
			return [3]string{tenant, at.Integration}
		}
		return [3]string{otherLabel, otherLabel}
	}
}

func place(at model.Place) [3]string {
	tenant, integration := integrationLabels(at.Tenant, at.Integration)
	return [3]string{tenant, integration}
}

// standings are values by the labels that they have.
type standings map[[3]string]float64

// standing is a gauge whose values are set all at once: labels that are not among them disappear, and a scrape never
// sees some of them missing.
type standing struct {
	desc   *prometheus.Desc
	labels int

	mu  sync.Mutex
	now standings
}

func newStanding(name, help string, labels ...string) *standing {
	return &standing{desc: prometheus.NewDesc(name, help, labels, nil), labels: len(labels)}
}

func (s *standing) set(next standings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = next
}

// Describe implements prometheus.Collector.
func (s *standing) Describe(descs chan<- *prometheus.Desc) { descs <- s.desc }

// Collect implements prometheus.Collector.
func (s *standing) Collect(metrics chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for labels, value := range s.now {
		metrics <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, value, slices.Clone(labels[:s.labels])...)
	}
}
