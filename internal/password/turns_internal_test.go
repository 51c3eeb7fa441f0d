package password

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, cap(turns.slots))
	require.EqualValues(t, 32, turns.most)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(2, 3)
	var leave []func()
	for range 2 {
		l, err := q.enter(t.Context())
		require.NoError(t, err)
		leave = append(leave, l)
	}
	entered := make(chan func(), 3)
	for range 3 {
		go func() {
			if l, err := q.enter(t.Context()); err == nil {
				entered <- l
			}
		}()
	}
	require.Eventually(t, func() bool { return q.waiting.Load() == 3 }, 5*time.Second, time.Millisecond)
	require.Empty(t, entered)
	_, err := q.enter(t.Context())
	require.ErrorIs(t, err, ErrBusy)

	leave[0]()
	(<-entered)()
	(<-entered)()
	(<-entered)()
	leave[1]()
	require.Zero(t, q.waiting.Load())
	_, err = q.enter(t.Context())
	require.NoError(t, err)
}

func TestQueueIsLeft(t *testing.T) {
	t.Parallel()
	q := newQueue(1, 1)
	_, err := q.enter(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client hung up"))
	_, err = q.enter(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, q.waiting.Load())
}
