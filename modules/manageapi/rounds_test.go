package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Rounds are per integration: a redelivery to one says nothing of the others. What arrived more than once is told with
// who asked for it.
func TestEachIntegrationHasACurrentDelivery(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		e := b.export("acme", "u-1")
		for _, name := range []string{"crm", "hris"} {
			b.status("acme", name, store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
		}
		b.delivery(e, "crm", model.Retrying, 503)
		b.delivery(e, "hris", model.Delivered, 200)
		b.must(http.StatusAccepted, http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", `{"integrations":["hris"]}`)
		again, err := b.Runtime.Store().Delivery(t.Context(), e.ID, "hris", 1)
		require.NoError(t, err)
		again.Attempted(http.StatusOK, "", "")
		again.Deliver()
		again.UpdatedAt = gatewaytest.Noon.Add(30 * time.Minute)
		b.Write(t, func(tx *store.Tx) error { return tx.UpsertDelivery(again) })

		type told struct {
			Integration, Outcome, BegunBy string
			Round                         int
			Current                       bool
		}
		want := []told{
			{Integration: "crm", Outcome: "retrying", Current: true}, {Integration: "hris", Outcome: "delivered"},
			{Integration: "hris", Outcome: "delivered", Round: 1, BegunBy: "admin endpoint", Current: true},
		}
		type shown struct{ Deliveries []told }
		require.Equal(t, want, get[shown](b, "/v1/tenants/acme/exports/u-1").Deliveries)
		require.Equal(t, []shown{{want}}, get[struct{ Items []shown }](b, "/v1/exports").Items)
		require.Equal(t, []string{"acme/u-1"}, get[listed](b, "/v1/exports?outcome=retrying").ids())

		out, _, err := b.cli("export", "list")
		require.NoError(t, err)
		require.Regexp(t, `crm retrying.*, hris delivered 2 times`, out)
		out, _, err = b.cli("export", "show", "acme/u-1")
		require.NoError(t, err)
		require.Regexp(t, `(?m)^hris received it 2 times:\n.*12:00:02Z .*as it came\n.*12:30:00Z .*asked for by admin endpoint$`,
			out)
	})
}

// Whoever asks for the exports of a range asks for each of its deliveries.
func TestADeliveryOfARangeKnowsWhoAskedForIt(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	a := b.must(http.StatusAccepted, http.MethodPost, redeliveries, lastHour+`}`)
	require.Contains(t, a.body, `"begunBy":"admin endpoint"`)
	id := parsed[redelivered](b, a).ID
	e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", "u-failed")
	require.NoError(t, err)
	j, err := b.Runtime.Store().Redelivery(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, b.Runtime.Redeliverer.RedeliverSelected(t.Context(), j, e.ID))
	got := get[struct {
		Deliveries []struct{ BegunBy, Redelivery string }
	}](b, "/v1/tenants/acme/exports/u-failed").Deliveries
	require.Equal(t, "admin endpoint", got[len(got)-1].BegunBy)
	require.Equal(t, id, got[len(got)-1].Redelivery)
}
