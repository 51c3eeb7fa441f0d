package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What is undelivered is found in every state that is not final, whether its delivery is stored yet or not, also after
// it was noted what is settled.
func TestUndeliveredExports(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		dispatched := func(key string, integrations ...string) *model.Export {
			e := export("acme", key, key)
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, noon, integrations...) })
			return e
		}
		put := func(e *model.Export, integration string, round int, outcome model.Outcome) {
			write(t, db, func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: integration,
					Round: round, Outcome: outcome, CreatedAt: noon, UpdatedAt: noon})
			})
		}
		accept := func(key string) *model.Export {
			e := export("acme", key, "b")
			e.Integrations = []string{"crm", "hris"}
			write(t, db, func(tx *store.Tx) error {
				tx.InsertDeliveries(e)
				_, err := tx.InsertExport(e)
				return err
			})
			return e
		}
		accept("waits for Temporal")
		fault := accept("fault")
		write(t, db, func(tx *store.Tx) error { return tx.MarkFault(fault.ID, "invalid id", noon) })
		dispatched("pending", "crm", "hris")
		put(dispatched("pending at crm", "crm", "hris"), "hris", 0, model.Failed)
		put(dispatched("held", "hris"), "hris", 0, model.Held)
		put(dispatched("retrying", "hris"), "hris", 0, model.Retrying)
		failed := dispatched("failed", "hris")
		put(failed, "hris", 0, model.Failed)
		delivered := dispatched("delivered", "hris")
		put(delivered, "hris", 0, model.Delivered)
		moved := dispatched("held in an earlier round", "crm", "hris")
		put(moved, "hris", 0, model.Held)
		put(moved, "crm", 0, model.Failed)
		begin := func(e *model.Export, integration string) {
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.BeginRound(e.ID, []string{integration}, noon, noon.Add(time.Hour))
				return err
			})
		}
		begin(moved, "crm")
		write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(moved.ID, 1, noon, "crm") })
		put(moved, "crm", 1, model.Delivered)
		another := export("globex", "of another", "b") // as an earlier version accepts it
		require.True(t, insert(t, db, another))

		list := func(f store.ExportFilter) (keys []string) {
			f.Undelivered, f.Limit = true, 2
			for {
				page, next, err := db.ListExports(t.Context(), f)
				require.NoError(t, err)
				for _, e := range page {
					keys = append(keys, e.Key)
				}
				if next == 0 {
					return keys
				}
				f.Cursor = next
			}
		}
		check := func() {
			t.Helper()
			require.Equal(t, []string{"of another", "held in an earlier round", "retrying", "held", "pending at crm",
				"pending", "fault", "waits for Temporal"}, list(store.ExportFilter{}))
			require.Equal(t, []string{"held in an earlier round", "retrying", "held", "pending", "fault", "waits for Temporal"},
				list(store.ExportFilter{Tenant: "acme", Integration: "hris"}))
			require.Equal(t, []string{"pending at crm", "pending", "fault", "waits for Temporal"},
				list(store.ExportFilter{Tenant: "acme", Integration: "crm"}))
			require.Equal(t, []string{"held in an earlier round", "held"},
				list(store.ExportFilter{Tenant: "acme", Integration: "hris", Outcome: model.Held}))
			for outcome, keys := range map[model.Outcome][]string{model.Retrying: {"retrying"}, model.Failed: {"pending at crm", "fault"}, model.Expired: nil,
				model.Delivered: {"held in an earlier round"}} {
				require.Equal(t, keys, list(store.ExportFilter{Outcome: outcome}), outcome)
			}
		}
		check()
		found, err := db.LookUnsettled(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, found.Next)
		require.Equal(t, []int64{another.ID}, found.Incomplete)
		require.Equal(t, []int64{failed.ID, delivered.ID}, found.Settled)

		begin(failed, "hris") // meanwhile
		write(t, db, func(tx *store.Tx) error { return tx.SettleExports(found.Settled) })
		again, err := db.LookUnsettled(t.Context(), 0)
		require.NoError(t, err)
		require.Empty(t, again.Settled)
		require.Contains(t, list(store.ExportFilter{}), "failed", "a round that began meanwhile was taken for settled")
		write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(failed.ID, 1, noon, "hris") })
		put(failed, "hris", 1, model.Failed)
		check()
		begin(delivered, "hris")
		require.Contains(t, list(store.ExportFilter{}), "delivered", "redelivered, and so undelivered")
	})
}
