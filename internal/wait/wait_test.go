package wait_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/wait"
)

func TestForEndsWithTheTimeOrTheContext(t *testing.T) {
	t.Parallel()
	require.True(t, wait.For(t.Context(), time.Millisecond))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, wait.For(ended, time.Hour))
}
