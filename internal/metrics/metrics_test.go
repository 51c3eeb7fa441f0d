package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// forget has a test begin with no label taken.
func forget(t *testing.T) {
	t.Helper()
	tenantsBefore, clientsBefore := tenants, clients
	t.Cleanup(func() { tenants, clients = tenantsBefore, clientsBefore })
	tenants, clients = newNames(), newNames()
}

func TestNoTenantIsUnknown(t *testing.T) {
	require.Error(t, model.ValidateTenantName(Unknown))
}

func TestCountersOutliveARegistry(t *testing.T) {
	forget(t)
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
	forget(t)
	for n := range 2 * DefaultLabels {
		SameBody(fmt.Sprint("tenant-", n))
	}
	require.Equal(t, DefaultLabels+1, testutil.CollectAndCount(sameBody))
	require.EqualValues(t, DefaultLabels, testutil.ToFloat64(sameBody.WithLabelValues(otherLabel)))
}

// The bound can be another one, none at all included, and also after tenants have got labels.
func TestTenantLabels(t *testing.T) {
	forget(t)
	Received("acme", "VERIFY", "verified")
	Received("globex", "VERIFY", "verified")
	for limit, own := range []bool{false, true} {
		LabelTenants(limit)
		require.Equal(t, own, tenants.value("acme") == "acme", limit)
		require.Equal(t, otherLabel, tenants.value("globex"), limit)
	}
	LabelTenants(2)
	require.Equal(t, "globex", tenants.value("globex"))
}

func TestClientsBeyondTheBoundShareALabel(t *testing.T) {
	forget(t)
	for n := range 2 * DefaultLabels {
		SignIn(fmt.Sprint("client-", n), "sign-in", "good")
	}
	SignIn("client-0", "sign-in", "good")
	SignIn("", "sign-in", "good")
	count := func(client string) float64 {
		return testutil.ToFloat64(signIns.WithLabelValues(client, "sign-in", "good"))
	}
	require.EqualValues(t, 2, count("client-0"))
	require.EqualValues(t, 1, count("_unknown"))
	require.EqualValues(t, DefaultLabels, count("_other"))
	require.Equal(t, DefaultLabels+2, testutil.CollectAndCount(signIns))
}

// What is not there any more is shown no more, and what shares a label is added up; of integrations the worst counts.
func TestStandingsAreSetTogether(t *testing.T) {
	forget(t)
	r := prometheus.NewRegistry()
	require.NoError(t, Register(r))
	shown := func(name string) (all map[string]float64) {
		families, err := r.Gather()
		require.NoError(t, err)
		all = map[string]float64{}
		for _, f := range families {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.GetMetric() {
				labels := ""
				for _, l := range m.GetLabel() {
					labels += l.GetName() + "=" + l.GetValue() + " "
				}
				all[labels] = m.GetGauge().GetValue()
			}
		}
		return all
	}
	at := func(tenant, integration string) model.Place {
		return model.Place{Tenant: tenant, Integration: integration}
	}
	Configured(map[model.Place]bool{at("acme", "hris"): true, at("acme", "crm"): false})
	Held(map[model.Place]int64{at("acme", "crm"): 3, at("acme", "removed"): 1})
	Quarantined(map[string]int64{"acme": 2})
	require.Equal(t, map[string]float64{"integration=hris tenant=acme ": 1, "integration=crm tenant=acme ": 0},
		shown("hiregate_integration_configured"))
	require.Equal(t, map[string]float64{"integration=crm tenant=acme ": 3, "integration=removed tenant=acme ": 1},
		shown("hiregate_deliveries_held"))
	require.Equal(t, map[string]float64{"tenant=acme ": 2}, shown("hiregate_quarantined_exports"))

	Held(map[model.Place]int64{at("acme", "crm"): 1})
	require.Equal(t, map[string]float64{"integration=crm tenant=acme ": 1}, shown("hiregate_deliveries_held"))
	Quarantined(nil)
	require.Empty(t, shown("hiregate_quarantined_exports"))

	others, open := map[model.Place]int64{}, map[model.Place]bool{}
	for n := range 2 * DefaultLabels {
		others[at(fmt.Sprint("tenant-", n), "hris")] = 1
		open[at(fmt.Sprint("tenant-", n), "hris")] = n > 0
	}
	Held(others)
	total := 0.0
	for _, n := range shown("hiregate_deliveries_held") {
		total += n
	}
	require.EqualValues(t, 2*DefaultLabels, total)
	require.LessOrEqual(t, len(shown("hiregate_deliveries_held")), DefaultLabels+1)
	for range 20 { // maps have no order
		Configured(open)
		least := 1.0
		for _, yes := range shown("hiregate_integration_configured") {
			least = min(least, yes)
		}
		require.Zero(t, least, "one that is not configured is not shown")
	}
}

// How integrations do is shown for each, and of those that share labels the worst.
func TestIntegrationsAreShown(t *testing.T) {
	forget(t)
	Received("acme", "VERIFY", "verified")
	at := time.Unix(1_700_000_000, 0)
	states := []string{"configured", "failing"}
	all := map[model.Place]Integration{
		{Tenant: "acme", Integration: "hris"}: {State: "failing", Waiting: 40, Oldest: time.Hour, LastDelivery: at,
			Overdue: 7, Failed: map[model.Class]int64{model.ClassExpired: 3}, BreakerOpen: true, CertificateEnd: at},
		{Tenant: "acme", Integration: "crm"}: {State: "configured"},
	}
	Integrations(all, states)
	hris, crm := [3]string{"acme", "hris"}, [3]string{"acme", "crm"}
	require.Equal(t, standings{hris: 40, crm: 0}, waitingDeliveries.now)
	require.Equal(t, standings{{"acme", "hris", "failing"}: 3600, {"acme", "crm", "configured"}: 0}, oldestWaiting.now)
	require.Equal(t, standings{hris: 1_700_000_000}, lastDelivery.now)
	require.Equal(t, standings{hris: 7, crm: 0}, overdueDeliveries.now)
	require.EqualValues(t, 3, failedDeliveries.now[[3]string{"acme", "hris", "expired"}])
	require.Len(t, failedDeliveries.now, 2*4, "0 of each other class")
	require.Equal(t, standings{hris: 1, crm: 0}, breakerOpen.now)
	require.Equal(t, standings{hris: 1_700_000_000}, certificateEnd.now)
	require.Equal(t, standings{
		{"acme", "hris", "configured"}: 0, {"acme", "hris", "failing"}: 1,
		{"acme", "crm", "configured"}: 1, {"acme", "crm", "failing"}: 0,
	}, integrationState.now)
	require.Equal(t, 4, testutil.CollectAndCount(integrationState, "hiregate_integration_state"))

	for n := range DefaultLabels {
		all[model.Place{Tenant: fmt.Sprint("tenant-", n), Integration: "hris"}] = Integration{State: "failing",
			Waiting: 1, Oldest: time.Duration(n) * time.Second,
			LastDelivery: at.Add(time.Duration(n) * time.Second)}
	}
	Integrations(all, states)
	others := [3]string{otherLabel, otherLabel}
	require.EqualValues(t, DefaultLabels, waitingDeliveries.now[others])
	require.EqualValues(t, DefaultLabels-1, oldestWaiting.now[[3]string{otherLabel, otherLabel, "failing"}])
	require.EqualValues(t, at.Unix(), lastDelivery.now[others])
	require.Zero(t, breakerOpen.now[others])
	require.EqualValues(t, DefaultLabels, integrationState.now[[3]string{otherLabel, otherLabel, "failing"}])
}

// A metric that is not collected would never be shown.
func TestAllMetricsAreCollected(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	named := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, made := range regexp.MustCompile(`(?:Name:\s+|newStanding\()"(hiregate_\w+)"`).FindAllSubmatch(source, -1) {
			named[string(made[1])] = true
		}
	}
	require.Greater(t, len(named), 50)
	for _, c := range all {
		delete(named, nameOf(c))
	}
	require.Empty(t, named)
}

func nameOf(c prometheus.Collector) string {
	descs := make(chan *prometheus.Desc, 10)
	c.Describe(descs)
	return regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch((<-descs).String())[1]
}

// Counters end in _total, and nothing else does, so that a name tells whether it may be summed up as a rate.
func TestCountersEndInTotal(t *testing.T) {
	counter := reflect.TypeFor[prometheus.Counter]()
	for _, c := range all {
		name := nameOf(c)
		_, vector := c.(*prometheus.CounterVec)
		_, gauge := c.(prometheus.Gauge)
		counts := vector || !gauge && reflect.TypeOf(c).Implements(counter)
		require.Equal(t, counts, strings.HasSuffix(name, "_total"), name)
	}
}

// Of more tenants than there are labels, those have one who send.
func TestIntegrationsTakeNoLabelFromThoseWhoSend(t *testing.T) {
	forget(t)
	Received("active", "VERIFY", "verified")
	all := map[model.Place]bool{{Tenant: "active", Integration: "hris"}: true}
	for n := range DefaultLabels {
		all[model.Place{Tenant: fmt.Sprint("tenant-", n), Integration: "hris"}] = true
	}
	Configured(all)
	require.Equal(t, 2, testutil.CollectAndCount(configured), "active and the others")
	require.Len(t, tenants.seen, 1)
	delete(all, model.Place{Tenant: "tenant-0", Integration: "hris"})
	Configured(all)
	require.Equal(t, DefaultLabels, testutil.CollectAndCount(configured))
}
