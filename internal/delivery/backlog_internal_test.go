package delivery

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// waits lets a workflow wait at the gate of an integration for deliveries of exports.
func waits(g *gates, i *model.Integration, exports ...int64) {
	g.turnedAway(i, &Waiter{Workflow: fmt.Sprint("w-", exports[0]), Exports: exports,
		Wake: func(context.Context) (bool, error) { return true, nil }})
}

// called returns the first exports of the workflows that are called now.
func called(g *gates, i *model.Integration) (all []int64) {
	for w := g.next(g.of(i), time.Now()); w != nil; w = g.next(g.of(i), time.Now()) {
		all = append(all, w.Exports[0])
	}
	return all
}

// attempt makes an attempt for a delivery.
func attempt(t *testing.T, g *gates, i *model.Integration, export int64, found error) {
	t.Helper()
	done, closed := g.enter(t.Context(), i, export, 0, false)
	require.Empty(t, closed)
	done(found)
}

// While an integration is down nobody is called. Then the oldest one tries, and after it the others come, the oldest first, as many as
// are attempted.
func TestWhatWaitsIsCalledInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Options: model.Options{InFlight: 1}}
		for range model.BreakAfter {
			attempt(t, &g, i, 1, errDown)
		}
		for _, export := range []int64{50, 20, 40, 10, 30, 70, 60} {
			waits(&g, i, export, export+1)
		}
		waits(&g, i, 20, 22) // its activity ran meanwhile
		require.Empty(t, called(&g, i))
		time.Sleep(breakFor + time.Millisecond)
		require.Equal(t, []int64{10}, called(&g, i))
		attempt(t, &g, i, 10, nil)
		require.Equal(t, []int64{20, 30}, called(&g, i), "four deliveries ahead")
		attempt(t, &g, i, 11, nil)
		require.Equal(t, []int64{40}, called(&g, i))
		attempt(t, &g, i, 20, nil)
		require.Empty(t, called(&g, i))
		g.arrived("w-50") // by itself
		attempt(t, &g, i, 20, nil)
		require.Equal(t, []int64{60}, called(&g, i))
		time.Sleep(time.Minute)
		require.Equal(t, []int64{70}, called(&g, i))
		require.Empty(t, g.backlogs)
		require.Empty(t, g.waiting)
	})
}

// Who comes later than one that waits waits as well, unless somebody asked for it.
func TestNobodyOvertakesWhatWaits(t *testing.T) {
	t.Parallel()
	var g gates
	i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in"}
	waits(&g, i, 5, 7)
	enter := func(export int64, asked bool) string {
		done, closed := g.enter(t.Context(), i, export, 0, asked)
		if closed == "" {
			done(nil)
		}
		return closed
	}
	require.Empty(t, enter(4, false))
	require.Equal(t, inLine, enter(9, false))
	require.Empty(t, enter(9, true))
	waits(&g, i, 8)
	require.Equal(t, []int64{5, 8}, called(&g, i))
	require.Empty(t, enter(9, false))
}

// A partner that hangs has few of those called that wait for it: each would be turned away once more.
func TestFewAreCalledInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in"}
		n := 0
		for range 60 {
			for export := range int64(100) {
				waits(&g, i, export+1)
			}
			n += len(called(&g, i))
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, n, lineFor*model.DefaultInFlight+60*callsInVain)
		require.GreaterOrEqual(t, n, 60)
	})
}
