package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// What came and waited most is stored once, however many nodes do so, and completes the quarter before.
func TestOverviewIsStored(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		noon := time.Now().UTC().Truncate(store.QuarterLength)
		now := noon.Add(10 * time.Second)
		put := func(tenant, key string, at time.Time) {
			e := inbox.NewExport(tenant, key, []byte(key), at)
			e.ID = model.FirstID(at)
			e.Receipt = model.NewReceipt(e.ID)
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := inbox.Insert(tx, e)
				return err
			}))
		}
		standings := func(acme, globex int64) (all []*Standing) {
			for tenant, n := range map[string]int64{"acme": acme, "globex": globex} {
				all = append(all, &Standing{Integration: &model.Integration{Tenant: tenant, Name: "hris"},
					Waiting: store.Waiting{Count: n, Oldest: noon}})
			}
			return all
		}
		put("acme", "u-1", noon)
		put("acme", "u-2", noon.Add(14*time.Minute))
		put("acme", "u-3", noon.Add(16*time.Minute))
		for range 2 { // nodes
			var o overview
			o.add(standings(3, 4), now)
			o.add(standings(5, 1), now.Add(5*time.Second))
			require.NoError(t, o.store(t.Context(), db, now.Add(5*time.Second)))
			require.Empty(t, o.waited)
			o.add(standings(9, 0), now.Add(20*time.Second))
			require.NoError(t, o.store(t.Context(), db, now.Add(20*time.Second)))
			require.Len(t, o.waited, 1, "it is stored once a minute")
		}
		all, err := db.ListQuarters(t.Context(), "", noon)
		require.NoError(t, err)
		require.Equal(t, []store.Quarter{{Begin: noon, Received: 2, Waiting: 7, Oldest: 15 * time.Second}}, all)
		acme, err := db.ListQuarters(t.Context(), "acme", noon)
		require.NoError(t, err)
		require.EqualValues(t, 5, acme[0].Waiting)

		put("globex", "u-4", noon.Add(13*time.Minute))
		var o overview
		require.NoError(t, o.store(t.Context(), db, noon.Add(16*time.Minute)))
		all, err = db.ListQuarters(t.Context(), "", noon)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 1}, []int64{all[0].Received, all[1].Received})

		put("acme", "late", noon.Add(15*time.Minute+30*time.Second)) // before what it counts again
		put("acme", "u-5", noon.Add(15*time.Minute+50*time.Second))
		put("globex", "u-6", noon.Add(17*time.Minute))
		require.NoError(t, o.store(t.Context(), db, noon.Add(17*time.Minute+40*time.Second)))
		all, err = db.ListQuarters(t.Context(), "", noon)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 4}, []int64{all[0].Received, all[1].Received})
		require.Equal(t, noon.Add(16*time.Minute+40*time.Second), o.counted)

		require.NoError(t, o.store(t.Context(), db, noon.Add(32*time.Minute)))
		put("acme", "u-7", noon.Add(32*time.Minute))
		require.NoError(t, o.store(t.Context(), db, noon.Add(33*time.Minute)))
		all, err = db.ListQuarters(t.Context(), "", noon)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 4, 1}, []int64{all[0].Received, all[1].Received, all[2].Received})
		require.Len(t, o.came, 1, "quarters that are complete are not counted again")
	})
}
