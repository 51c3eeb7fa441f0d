package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What was given up is counted by its class, unless it was redelivered, erased, or is longer ago.
func TestCountFailed(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		put := func(key string, all ...model.Delivery) {
			e := export("acme", key, key)
			require.True(t, insert(t, db, e))
			for n, d := range all {
				d.ExportID, d.Tenant, d.Round, d.CreatedAt = e.ID, e.Tenant, n, noon
				if d.Integration == "" {
					d.Integration = "hris"
				}
				if d.UpdatedAt.IsZero() {
					d.UpdatedAt = noon
				}
				write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(&d) })
			}
		}
		refused := model.Delivery{Outcome: model.Failed, Fault: model.ClassDataFault}
		put("refused", refused)
		put("refused again", refused, refused)
		put("redelivered", refused, model.Delivery{Outcome: model.Delivered})
		put("under way again", refused, model.Delivery{Outcome: model.Retrying, Fault: model.ClassPartnerFault})
		put("expired", model.Delivery{Outcome: model.Expired, Fault: model.ClassPartnerFault, Integration: "crm"})
		put("ours", model.Delivery{Outcome: model.Failed, Fault: model.ClassOurFault})
		put("erased", model.Delivery{Outcome: model.Failed, Fault: model.ClassOurFault, Reason: store.ErasedReason})
		put("before", model.Delivery{Outcome: model.Failed, Fault: model.ClassDataFault, UpdatedAt: noon.Add(-time.Second)})
		failed, err := db.CountFailed(t.Context(), noon)
		require.NoError(t, err)
		require.Equal(t, map[model.Place]map[model.Class]int64{
			{Tenant: "acme", Integration: "hris"}: {model.ClassDataFault: 2, model.ClassOurFault: 1},
			{Tenant: "acme", Integration: "crm"}:  {model.ClassExpired: 1},
		}, failed)
	})
}
