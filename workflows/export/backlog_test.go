package export_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// After an outage of a partner, what waited for it goes out in the order in which it came, and what comes then behind it.
func TestBacklogGoesOutInOrder(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var up atomic.Bool
	var mu sync.Mutex
	var came []string
	b.Answer = func(r *http.Request) int {
		if !up.Load() {
			return http.StatusServiceUnavailable
		}
		mu.Lock()
		defer mu.Unlock()
		came = append(came, r.Header.Get("X-Service-UUID"))
		return http.StatusOK
	}
	b.Integration().InFlight = 4
	b.Now = time.Now
	d := b.Work(64)
	accept := func(name string, n int) (all []*model.Export) {
		for at := range n {
			e := b.TakeFor("acme", fmt.Sprint(name, at), `{}`, fromNow)
			all = append(all, e)
			d.Offer(e)
			if at%20 == 0 { // some alone, others as a group
				b.Becomes(e, exporttest.Started)
			}
		}
		return all
	}
	failed := accept("failed-", 20)
	require.Eventually(t, func() bool { return b.Gate(b.Integration()).BreakerOpen }, time.Minute, 10*time.Millisecond)
	late := accept("late-", 300)
	for _, e := range late {
		b.Becomes(e, exporttest.Started)
	}
	up.Store(true)
	first := failed[0]
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.AskDelivery(model.NewDelivery(first, "hris", 0, time.Now()), time.Now())
	}))
	require.Eventually(t, func() bool {
		now, err := b.Store.Export(t.Context(), first.ID)
		require.NoError(t, err)
		_ = workflows.RunNow(t.Context(), d.Client, client.DefaultNamespace, now.RoundWorkflowID(0), export.DeliverName) // or it has ended
		return !b.Gate(b.Integration()).BreakerOpen
	}, time.Minute, 50*time.Millisecond)
	all := slices.Concat(failed, late, accept("new-", 100))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(came) == len(all)
	}, 3*time.Minute, 20*time.Millisecond)
	came = slices.DeleteFunc(came, func(key string) bool { // they have a schedule of their own
		return slices.ContainsFunc(failed, func(e *model.Export) bool { return e.Key == key })
	})
	all = all[len(failed):]
	off := make([]int, len(all))
	for at, e := range all {
		off[at] = slices.Index(came, e.Key) - at
	}
	slices.SortFunc(off, func(a, b int) int { return cmp.Compare(max(a, -a), max(b, -b)) })
	require.Less(t, max(off[len(off)*9/10], -off[len(off)*9/10]), len(all)/4, "positions: %v", came)
}
