package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// Somebody waits for what was triggered here. A redelivery may be one of thousands.
func TestUrgency(t *testing.T) {
	t.Parallel()
	for want, e := range map[workflows.Urgency]model.Export{
		workflows.Triggered:   {Origin: model.Triggered},
		workflows.Received:    {Origin: model.Received},
		workflows.Redelivered: {Origin: model.Triggered, Round: 1},
	} {
		require.Equal(t, want, urgency(&e))
	}
}
