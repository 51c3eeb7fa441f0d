package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
)

func TestARuntimeKeepsOneOfAType(t *testing.T) {
	t.Parallel()
	type guards struct{ n int }
	type others struct{ n int }
	one, other := new(gateway.Runtime), new(gateway.Runtime)
	first := func() *guards { return &guards{7} }
	kept := gateway.Kept(one, first)
	require.Same(t, kept, gateway.Kept(one, first))
	require.NotSame(t, kept, gateway.Kept(other, first), "another database has its own")
	require.Equal(t, &others{8}, gateway.Kept(one, func() *others { return &others{8} }))
}
