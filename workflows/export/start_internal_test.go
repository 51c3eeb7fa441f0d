package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/workflows"
)

// Somebody waits for what was triggered here. A redelivery may be one of thousands.
func TestUrgency(t *testing.T) {
	t.Parallel()
	for want, e := range map[workflows.Urgency]hiring.Export{
		workflows.Triggered:   {Origin: hiring.Triggered},
		workflows.Received:    {Origin: hiring.Received},
		workflows.Redelivered: {Origin: hiring.Triggered, Round: 1},
	} {
		require.Equal(t, want, urgency(&e))
	}
}
