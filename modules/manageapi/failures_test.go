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

// Failures are grouped by what they have in common, those of a day: neither what is delivered nor what was redelivered is
// among them, nor what other tenants have.
func TestFailures(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		fail := func(tenant, uuid string, round int, outcome model.Outcome, status int, ago time.Duration) {
			b.Write(t, func(tx *store.Tx) error {
				e, err := b.Runtime.Store().ExportByKey(t.Context(), tenant, uuid)
				if err != nil {
					return err
				}
				at := gatewaytest.Noon.Add(-ago)
				d := &model.Delivery{ExportID: e.ID, Tenant: tenant, Integration: "hris", Round: round, Outcome: outcome,
					Attempts: 1, CreatedAt: at, UpdatedAt: at}
				if outcome == model.Failed {
					d.Fault = model.FaultOf(status)
				}
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, Number: 1, StartedAt: at, Status: status})
			})
		}
		for _, uuid := range []string{"u-1", "u-2", "u-3", "u-4", "u-5", "u-6"} {
			b.export("acme", uuid)
		}
		b.export("globex", "u-1")
		fail("acme", "u-1", 0, model.Failed, 500, time.Hour)
		fail("acme", "u-2", 0, model.Failed, 500, 2*time.Hour)
		fail("acme", "u-3", 0, model.Failed, 422, time.Hour)
		fail("acme", "u-4", 0, model.Failed, 500, 25*time.Hour)
		fail("acme", "u-5", 0, model.Failed, 500, time.Hour)
		fail("acme", "u-5", 1, model.Delivered, 200, time.Minute)
		fail("acme", "u-6", 0, model.Expired, 503, time.Hour)
		fail("globex", "u-1", 0, model.Failed, 500, time.Hour)
		type group struct {
			Tenant, Outcome, Class string
			Status, Count          int
			Last                   time.Time
		}
		ofAcme := b.keyed().as(b.keyed().key("k-1", "acme", model.Viewer))
		groups := parsed[struct{ Items []group }](b, ofAcme.must(http.StatusOK, http.MethodGet, "/v1/failures", "")).Items
		ended := gatewaytest.Noon.Add(-time.Hour).UTC()
		require.Equal(t, group{"acme", "failed", "partner_fault", 500, 2, ended}, groups[0])
		require.ElementsMatch(t, []group{{"acme", "failed", "data_fault", 422, 1, ended},
			{"acme", "expired", "", 503, 1, ended}}, groups[1:])
		require.Len(t, get[struct{ Items []group }](b, "/v1/failures").Items, 4)
		require.Equal(t, 3, get[struct{ Items []group }](b, "/v1/failures?since=2020-01-01T00:00:00Z").Items[0].Count)
	})
}
