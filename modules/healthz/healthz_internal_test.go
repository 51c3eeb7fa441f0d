package healthz

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A part that answered is not said to be away because the other one let the time run out.
func TestAnswerThatCameInTime(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		part := make(chan error, 1)
		part <- nil
		require.NoError(t, answerOf(over, part))
	}
	require.ErrorIs(t, answerOf(over, make(chan error)), context.Canceled)
}
