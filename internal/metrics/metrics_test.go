package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

// forget has a test begin with no label taken.
func forget(t *testing.T) {
	t.Helper()
	tenantsBefore, clientsBefore := tenants.seen, clients.seen
	t.Cleanup(func() { tenants.seen, clients.seen = tenantsBefore, clientsBefore })
	tenants.seen, clients.seen = map[string]struct{}{}, map[string]struct{}{}
}

func TestNoTenantIsUnknown(t *testing.T) {
	require.Error(t, hiring.ValidateTenantName(Unknown))
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
	for n := range 2 * maxLabels {
		SameBody(fmt.Sprint("tenant-", n))
	}
	require.Equal(t, maxLabels+1, testutil.CollectAndCount(sameBody))
	require.EqualValues(t, maxLabels, testutil.ToFloat64(sameBody.WithLabelValues(otherLabel)))
}

func TestClientsBeyondTheBoundShareALabel(t *testing.T) {
	forget(t)
	for n := range 2 * maxLabels {
		SignIn(fmt.Sprint("client-", n), "sign-in", "good")
	}
	SignIn("client-0", "sign-in", "good")
	SignIn("", "sign-in", "good")
	count := func(client string) float64 {
		return testutil.ToFloat64(signIns.WithLabelValues(client, "sign-in", "good"))
	}
	require.EqualValues(t, 2, count("client-0"))
	require.EqualValues(t, 1, count("_unknown"))
	require.EqualValues(t, maxLabels, count("_other"))
	require.Equal(t, maxLabels+2, testutil.CollectAndCount(signIns))
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
	at := func(tenant, integration string) hiring.Place {
		return hiring.Place{Tenant: tenant, Integration: integration}
	}
	Configured(map[hiring.Place]bool{at("acme", "hris"): true, at("acme", "crm"): false})
	Held(map[hiring.Place]int64{at("acme", "crm"): 3, at("acme", "removed"): 1})
	Quarantined(map[string]int64{"acme": 2})
	require.Equal(t, map[string]float64{"integration=hris tenant=acme ": 1, "integration=crm tenant=acme ": 0},
		shown("hiregate_integration_configured"))
	require.Equal(t, map[string]float64{"integration=crm tenant=acme ": 3, "integration=removed tenant=acme ": 1},
		shown("hiregate_deliveries_held"))
	require.Equal(t, map[string]float64{"tenant=acme ": 2}, shown("hiregate_exports_quarantined"))

	Held(map[hiring.Place]int64{at("acme", "crm"): 1})
	require.Equal(t, map[string]float64{"integration=crm tenant=acme ": 1}, shown("hiregate_deliveries_held"))
	Quarantined(nil)
	require.Empty(t, shown("hiregate_exports_quarantined"))

	others, open := map[hiring.Place]int64{}, map[hiring.Place]bool{}
	for n := range 2 * maxLabels {
		others[at(fmt.Sprint("tenant-", n), "hris")] = 1
		open[at(fmt.Sprint("tenant-", n), "hris")] = n > 0
	}
	Held(others)
	total := 0.0
	for _, n := range shown("hiregate_deliveries_held") {
		total += n
	}
	require.EqualValues(t, 2*maxLabels, total)
	require.LessOrEqual(t, len(shown("hiregate_deliveries_held")), maxLabels+1)
	for range 20 { // maps have no order
		Configured(open)
		least := 1.0
		for _, yes := range shown("hiregate_integration_configured") {
			least = min(least, yes)
		}
		require.Zero(t, least, "one that is not configured is not shown")
	}
}

// Of more tenants than there are labels, those have one who send.
func TestIntegrationsTakeNoLabelFromThoseWhoSend(t *testing.T) {
	forget(t)
	Received("active", "VERIFY", "verified")
	all := map[hiring.Place]bool{{Tenant: "active", Integration: "hris"}: true}
	for n := range maxLabels {
		all[hiring.Place{Tenant: fmt.Sprint("tenant-", n), Integration: "hris"}] = true
	}
	Configured(all)
	require.Equal(t, 2, testutil.CollectAndCount(configured), "active and the others")
	require.Len(t, tenants.seen, 1)
	delete(all, hiring.Place{Tenant: "tenant-0", Integration: "hris"})
	Configured(all)
	require.Equal(t, maxLabels, testutil.CollectAndCount(configured))
}
