package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

func TestDeliveriesOfAPage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		var ids []int64
		for _, key := range []string{"u-1", "u-2", "u-3"} {
			e := export("acme", key, key)
			require.True(t, insert(t, db, e))
			ids = append(ids, e.ID)
		}
		put := func(id int64, integration string, round int) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.PutDelivery(&hiring.Delivery{ExportID: id, Tenant: "acme", Integration: integration, Round: round,
					Outcome: hiring.Delivered, CreatedAt: noon, UpdatedAt: noon})
			}))
		}
		put(ids[0], "hris", 1)
		put(ids[0], "hris", 0)
		put(ids[0], "crm", 0)
		put(ids[1], "hris", 0)
		put(ids[2], "hris", 0)

		of, err := db.DeliveriesOf(t.Context(), ids[:2])
		require.NoError(t, err)
		require.Len(t, of, 2)
		for _, id := range ids[:2] {
			alone, err := db.Deliveries(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, alone, of[id])
		}
		of, err = db.DeliveriesOf(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, of)
	})
}

func TestStatusesOfAllIntegrations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		hris := &hiring.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/acme", Secret: "s"}
		crm := &hiring.Integration{Tenant: "acme", Name: "crm", URL: "https://crm.example/acme", Secret: "s"}
		disabled := store.IntegrationStatus{State: hiring.Disabled, Reason: "it answered 410", Attempts: 3, UpdatedAt: noon}
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.PutIntegrationStatus(hris, disabled) }))
		edited := *hris
		edited.URL = "https://hr.example/other"

		all, err := db.IntegrationStatuses(t.Context())
		require.NoError(t, err)
		require.Equal(t, disabled.Reason, all.Of(hris).Reason)
		for _, i := range []*hiring.Integration{hris, crm, &edited} {
			alone, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			require.Equal(t, alone, all.Of(i))
		}
		require.Equal(t, hiring.NotConfigured, all.Of(&edited).State)
	})
}
