package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// counting is a fixture whose exports are those of a tenant that no other test has.
func counting(t *testing.T, tenant string) (b *exporttest.Fixture, e *model.Export, counted func() map[string]float64) {
	b = exporttest.NewFixture(t)
	i := b.Integration()
	i.Tenant = tenant
	b.Config.Tenants[tenant] = b.Config.Tenants["acme"]
	b.Set(model.Configured)
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	all := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		classes := map[string]float64{}
		for _, family := range families {
			if family.GetName() != "hiregate_deliveries_total" {
				continue
			}
			for _, m := range family.GetMetric() {
				labels := map[string]string{}
				for _, label := range m.GetLabel() {
					labels[label.GetName()] = label.GetValue()
				}
				if labels["tenant"] == tenant {
					classes[labels["class"]] = m.GetCounter().GetValue()
				}
			}
		}
		return classes
	}
	before := all()
	return b, b.TakeFor(tenant, "u-1", `{}`, func(*model.Export) {}), func() map[string]float64 {
		came := map[string]float64{}
		for class, n := range all() {
			if n > before[class] {
				came[class] = n - before[class]
			}
		}
		return came
	}
}

// An attempt that came too late to be written changed nothing, and is not counted among the changes.
func TestLateAttemptIsNotCounted(t *testing.T) {
	t.Parallel()
	b, e, counted := counting(t, "late-attempts")
	b.Meanwhile(http.StatusInternalServerError, func() { b.DeliverOnce(e) })
	b.DeliverOnce(e)
	require.Equal(t, []int{http.StatusOK, http.StatusInternalServerError}, b.Attempts(e))
	require.Equal(t, map[string]float64{"delivered": 1}, counted())
}

// What is held came to be so once, however often its reason changes and until it is parked. A gate that opens by itself counts nothing.
func TestHeldIsCountedOnce(t *testing.T) {
	t.Parallel()
	b, e, counted := counting(t, "held-once")
	b.Set(model.NotConfigured)
	b.DeliverOnce(e)
	b.Set(model.Disabled)
	b.DeliverOnce(e)
	b.Advance(time.Hour)
	b.DeliverOnce(e)
	require.True(t, b.Delivery(e).Parked)
	require.Equal(t, map[string]float64{"held": 1}, counted())

	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, e.Round, b.Clock(), "hris"); err != nil {
			return err
		}
		next, err := tx.BeginRound(e.ID, []string{"hris"}, b.Clock(), b.Clock().Add(model.DeliveryWindow), b.Delivery(e))
		e = next
		return err
	}))
	b.DeliverOnce(e)
	require.Equal(t, map[string]float64{"held": 2}, counted(), "it was released, and is held anew")
	b.Set(model.Configured)
	b.DeliverOnce(e)
	require.Equal(t, map[string]float64{"held": 2, "delivered": 1}, counted())
}
