package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func kept(body string) *store.KeptBody {
	k := store.NewKeptBody(len(body))
	_, _ = k.Write([]byte(body)) // never fails
	return k
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		held := export("acme", "held", `{}`)
		held.Quarantined, held.Findings = true, []byte(`[{"pointer":"/candidate","rule":"required","found":"absent"}]`)
		free := export("acme", "free", `{"candidate":{}}`)
		other := export("globex", "held", `{}`)
		other.Quarantined = true
		for _, e := range []*model.Export{held, free, other} {
			require.True(t, insert(t, db, e))
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: "hris", Outcome: model.Held, Parked: true, HeldSince: noon, CreatedAt: noon, UpdatedAt: noon})
			}))
		}
		list := func(f store.ExportFilter) (keys []string) {
			page, _, err := db.ListExports(t.Context(), f)
			require.NoError(t, err)
			for _, e := range page {
				keys = append(keys, e.Tenant+"/"+e.Key)
			}
			return keys
		}
		require.Equal(t, []string{"acme/held"}, list(store.ExportFilter{Tenant: "acme", Quarantined: true}))
		require.Equal(t, []string{"acme/held"}, list(store.ExportFilter{Tenant: "acme", Integration: "hris", Outcome: model.Held, Quarantined: true}))
		require.Equal(t, []string{"globex/held", "acme/held"}, list(store.ExportFilter{Quarantined: true}))

		// What is in quarantine waits for a person, and no integration that is configured lets it go.
		of, err := db.ListHeldDeliveries(t.Context(), "acme", "hris", 0, 10)
		require.NoError(t, err)
		require.Len(t, of, 1)
		require.Equal(t, free.ID, of[0].ExportID)
		parked, err := db.CountUndelivered(t.Context(), noon)
		require.NoError(t, err)
		require.Equal(t, int64(1), parked[model.Place{Tenant: "acme", Integration: "hris"}].Held)
		places, err := db.ListHeldPlaces(t.Context())
		require.NoError(t, err)
		require.Equal(t, []model.Place{{Tenant: "acme", Integration: "hris"}}, places)
		quarantined, err := db.CountQuarantined(t.Context())
		require.NoError(t, err)
		require.Len(t, quarantined, 2)
		require.Equal(t, store.Counted{Count: 1, Since: held.ReceivedAt}, quarantined["acme"])

		end := func(id int64) (ended bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) { ended, err = tx.ReleaseQuarantine(id); return err }))
			return ended
		}
		require.True(t, end(held.ID))
		require.False(t, end(held.ID), "it was released twice")
		require.False(t, end(free.ID))
		got, err := db.ExportByKey(t.Context(), "acme", "held")
		require.NoError(t, err)
		require.False(t, got.Quarantined)
		require.Equal(t, held.Findings, got.Findings)
		require.Empty(t, list(store.ExportFilter{Tenant: "acme", Quarantined: true}))
	})
}

func TestRemovedIntegrationIsKnownAsSuch(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		hris := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/acme", Secret: "s"}
		removed := func(tenant, name string) bool {
			is, err := db.IsIntegrationRemoved(t.Context(), tenant, name)
			require.NoError(t, err)
			return is
		}
		require.False(t, removed("acme", "hris"), "one that nobody knows was removed")
		for _, state := range []model.IntegrationState{model.NotConfigured, model.Configured, model.Disabled, model.Removed} {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertIntegrationStatus(hris, store.IntegrationStatus{State: state, UpdatedAt: noon.Add(time.Minute)})
			}))
			require.Equal(t, state == model.Removed, removed("acme", "hris"), state)
		}
		require.False(t, removed("globex", "hris"))
	})
}
