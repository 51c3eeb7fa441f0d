package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// However many are turned away, each looks again within ten minutes; and those that have no turn of their own take none from who comes
// when the others are through.
func TestNobodyWaitsLongAtAGate(t *testing.T) {
	t.Parallel()
	var g gates
	i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Options: model.Options{InFlight: 1}}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	_, closed := g.enter(t.Context(), i, 1, 0, false)
	require.Empty(t, closed)
	turn := func() time.Duration {
		_, closed := g.enter(t.Context(), i, 1, 0, false)
		require.Equal(t, "at_capacity", closed)
		return g.backoff(i, now)
	}
	longest := time.Duration(0)
	for range 100_000 {
		longest = max(longest, turn())
	}
	require.Greater(t, longest, 10*time.Minute)
	require.LessOrEqual(t, longest, 12*time.Minute, "ten minutes, and the jitter")
	now = now.Add(10*time.Minute + 5*time.Second)
	require.Less(t, turn(), 3*time.Second)
}

// Twenty integrations of a tenant that turn deliveries away bring back no more of them in a second than one does. One alone has all of
// the turns, and has them again once the others turn nobody away.
func TestIntegrationsOfATenantShareItsTurns(t *testing.T) {
	t.Parallel()
	var g gates
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	// soon counts those of 2,000 turned away by so many integrations that come again within ten seconds.
	soon := func(tenant string, integrations int) (n int) {
		for m := range 2000 {
			i := &model.Integration{Tenant: tenant, Name: fmt.Sprint("hris-", m%integrations), URL: "https://hr.example/in"}
			if g.backoff(i, now) < 10*time.Second {
				n++
			}
		}
		return n
	}
	alone := soon("acme", 1)
	require.InDelta(t, 200, alone, 60)
	require.LessOrEqual(t, soon("globex", 20), alone*3/2)
	now = now.Add(time.Hour)
	require.InDelta(t, alone, soon("globex", 1), 80)
}

// A rate lets its burst through, and then none before its time. What it turns away uses no place and opens no breaker,
// and comes back twice as often as there are turns; a group does with its next one.
func TestRateOfAnIntegration(t *testing.T) {
	t.Parallel()
	var g gates
	i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Options: model.Options{InFlight: 4, Rate: &model.Rate{PerSecond: 1. / 3600, Burst: 3}}}
	enter := func() string {
		done, closed := g.enter(t.Context(), i, 1, 0, false)
		if closed == "" {
			done(nil)
		}
		return closed
	}
	for range 3 {
		require.False(t, g.state(i).OverRate)
		require.Empty(t, enter())
	}
	for range 2 * model.BreakAfter {
		require.Equal(t, overRate, enter())
	}
	require.Equal(t, Gate{OverRate: true}, g.state(i))
	now := time.Now()
	require.Less(t, g.rateBackoff(i, 0, now), 3*time.Second, "the next turn")
	require.Greater(t, g.rateBackoff(i, 0, now), 7*time.Minute, "half an hour, or ten minutes")
	require.Greater(t, g.rateBackoff(i, GroupPatience, now), 7*time.Minute)

	i.Rate = &model.Rate{PerSecond: 1000, Burst: 1} // with a reload
	done, closed := g.enter(t.Context(), i, 1, Patience(time.Minute), false)
	require.Empty(t, closed, "it waits for a millisecond")
	done(nil)
	i.Rate = nil
	for range 100 {
		require.Empty(t, enter())
	}
	require.Zero(t, g.state(i))
}
