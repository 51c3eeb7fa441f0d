package limits_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/limits"
)

func TestEachKeyHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	l, now := limits.New(time.Second, 2), time.Unix(1_000_000, 0)
	require.Equal(t, []bool{true, true, false, true}, []bool{l.Allow("a", now), l.Allow("a", now), l.Allow("a", now), l.Allow("b", now)})
	require.True(t, l.Allow("a", now.Add(time.Second)))
}
