package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// One node settles, and stores what waits once more does than is counted when somebody asks.
func TestOneNodeSettlesAndCountsWhatWaits(t *testing.T) {
	t.Parallel()
	const waiting, delivered = 2100, 100
	address := storetest.Postgres(t)
	now := time.Now().UTC().Truncate(time.Second)
	var nodes [2]*settler
	for n := range nodes {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		d := &Dispatcher{Store: db, Now: func() time.Time { return now }}
		nodes[n] = &settler{dispatcher: d, lease: db.Lease("settle")}
	}
	db := nodes[0].dispatcher.Store
	// a write has a time to end in, which 2,000 exports in one outlast on a busy machine
	for first := 0; first < waiting+delivered; first += 100 {
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for n := first; n < first+100; n++ {
				e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte("{}"), now)
				if _, err := inbox.Insert(tx, e); err != nil {
					return err
				}
				if err := tx.MarkDispatched(e.ID, 0, now, "hris"); err != nil {
					return err
				}
				if n < delivered {
					d := model.NewDelivery(e, "hris", 0, now)
					d.Deliver()
					if err := tx.UpsertDelivery(d); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
	require.NoError(t, nodes[0].settle(t.Context()))
	require.NoError(t, nodes[1].settle(t.Context()))
	require.Nil(t, nodes[1].stored, "two nodes do the same")
	counted, err := db.CountUndelivered(t.Context(), time.Now())
	require.NoError(t, err)
	require.EqualValues(t, waiting, counted[model.Place{Tenant: "acme", Integration: "hris"}].Count)
	for after := int64(0); ; {
		page, err := db.LookUnsettled(t.Context(), after)
		require.NoError(t, err)
		require.Empty(t, page.Settled, "they were not noted")
		if after = page.Next; after == 0 {
			break
		}
	}
	now = now.Add(time.Hour)
	require.NoError(t, nodes[1].settle(t.Context()))
	require.NotNil(t, nodes[1].stored, "the other node has stopped")
}
