package export

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

// However many are turned away, each looks again within ten minutes; and those that have no turn of their own take none from who comes
// when the others are through.
func TestNobodyWaitsLongAtAGate(t *testing.T) {
	t.Parallel()
	var g gates
	i := &hiring.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", InFlight: 1}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	_, closed, _ := g.enter(i, now)
	require.Empty(t, closed)
	turn := func() time.Duration {
		_, closed, wait := g.enter(i, now)
		require.Equal(t, "at_capacity", closed)
		return wait
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
