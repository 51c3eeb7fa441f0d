package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What a gateway of an earlier version accepts, or has started, has no deliveries before their first attempts: it gets
// them also while Temporal is away.
func TestWhatAnEarlierVersionAcceptedGetsDeliveries(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		accept := func(tenant, key string) *model.Export {
			e := inbox.NewExport(tenant, key, []byte(`{}`), now)
			e.WorkflowID = model.WorkflowID(tenant, key, 0)
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.InsertExport(e)
				return err
			}))
			return e
		}
		waits, idle := accept("acme", "waits"), accept("idle", "u-1")
		accept("unknown", "u-1")
		started := accept("acme", "started")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(started.ID, 0, now, "crm") }))
		force := new(config.InForce)
		force.Push(&config.Config{Tenants: map[string]*model.Tenant{"idle": {Name: "idle"}, "acme": {Name: "acme",
			Integrations: []model.Integration{{Tenant: "acme", Name: "hris"}, {Tenant: "acme", Name: "crm"}}}}})
		d := &Dispatcher{Store: db, InForce: force, Now: time.Now, Log: zap.NewNop()}
		s := &settler{dispatcher: d, lease: db.Lease("settle")}
		have := func(e *model.Export) (names []string) {
			all, err := db.ListDeliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range all {
				require.Equal(t, now, d.CreatedAt)
				names = append(names, d.Integration+" "+string(d.Outcome))
			}
			return names
		}
		for range 2 {
			require.NoError(t, s.settle(t.Context()))
			require.ElementsMatch(t, []string{"crm pending", "hris pending"}, have(waits))
			require.Equal(t, []string{"crm pending"}, have(started))
			require.Equal(t, []string{" failed"}, have(idle))
			undelivered, _, err := db.ListExports(t.Context(), store.ExportFilter{Tenant: "acme", Undelivered: true})
			require.NoError(t, err)
			require.Len(t, undelivered, 2)
		}
	})
}
