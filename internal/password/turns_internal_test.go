package password

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/metrics/metricstest"
)

// Fifty clients that guess fill the line of strangers. An address where somebody succeeded before has places of its
// own, and its turn comes after one of theirs at the latest. Nothing else hashes meanwhile: tests that run in parallel
// wait until this one has ended.
func TestGuessersKeepNobodyOut(t *testing.T) {
	f := NewFailures(time.Now)
	a, _ := f.Try("ada", "192.0.2.1")
	a.Succeed()
	hash, err := Hash(t.Context(), "correct horse")
	require.NoError(t, err)

	var leave []func()
	for range 2 {
		l, err := turns.enter(t.Context(), "198.51.100.1", false)
		require.NoError(t, err)
		leave = append(leave, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var guessing sync.WaitGroup
	for n := range 50 {
		guessing.Go(func() {
			g, _ := f.Try("bob", fmt.Sprint("203.0.113.", n))
			g.Verify(ctx, hash, "a guess") // until the end of the test, or ErrBusy
		})
	}
	require.Eventually(t, func() bool { return turns.waits(0) == 32 }, time.Minute, time.Millisecond)
	require.GreaterOrEqual(t, metricstest.Gauge(t, "hiregate_password_checks_waiting"), 32.0)
	refused := metricstest.Counter(t, "hiregate_password_checks_refused_total")
	stranger, _ := f.Try("ada", "192.0.2.9")
	_, err = stranger.Verify(t.Context(), hash, "correct horse")
	require.ErrorIs(t, err, ErrBusy)
	require.Greater(t, metricstest.Counter(t, "hiregate_password_checks_refused_total"), refused)

	a, wait := f.Try("ada", "192.0.2.1")
	require.Zero(t, wait)
	type answer struct {
		right bool
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		right, err := a.Verify(t.Context(), hash, "correct horse")
		answered <- answer{right, err}
	}()
	require.Eventually(t, func() bool { return turns.waits(1) == 1 }, time.Minute, time.Millisecond)
	leave[0]()
	require.Equal(t, answer{true, nil}, <-answered)
	cancel()
	leave[1]()
	guessing.Wait()
}

func (q *queue) waits(line int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines[line].waiting)
}

// The lines take turns, and one address has half the places of its line at most.
func TestLinesTakeTurns(t *testing.T) {
	t.Parallel()
	q := newQueue(1, 4)
	leave, err := q.enter(t.Context(), "a", false)
	require.NoError(t, err)
	came := make(chan string)
	wait := func(network string, known bool, line, waiting int) {
		go func() {
			if _, err := q.enter(t.Context(), network, known); err == nil {
				came <- network
			}
		}()
		require.Eventually(t, func() bool { return q.waits(line) == waiting }, time.Minute, time.Millisecond)
	}
	wait("a", false, 0, 1)
	wait("a", false, 0, 2)
	_, err = q.enter(t.Context(), "a", false)
	require.ErrorIs(t, err, ErrBusy)
	wait("b", false, 0, 3)
	wait("known", true, 1, 1)
	wait("known", true, 1, 2)
	_, err = q.enter(t.Context(), "known", true)
	require.ErrorIs(t, err, ErrBusy)
	for _, network := range []string{"a", "known", "a", "known", "b"} {
		leave()
		require.Equal(t, network, <-came)
	}
	leave()
	_, err = q.enter(t.Context(), "c", false)
	require.NoError(t, err)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(2, 3)
	var leave []func()
	for range 2 {
		l, err := q.enter(t.Context(), "a", false)
		require.NoError(t, err)
		leave = append(leave, l)
	}
	entered := make(chan func(), 3)
	for n := range 3 {
		go func() {
			if l, err := q.enter(t.Context(), fmt.Sprint("address ", n), false); err == nil {
				entered <- l
			}
		}()
	}
	require.Eventually(t, func() bool { return q.waits(0) == 3 }, time.Minute, time.Millisecond)
	require.Empty(t, entered)
	_, err := q.enter(t.Context(), "a", false)
	require.ErrorIs(t, err, ErrBusy)

	leave[0]()
	(<-entered)()
	(<-entered)()
	(<-entered)()
	leave[1]()
	require.Zero(t, q.waits(0))
	_, err = q.enter(t.Context(), "a", false)
	require.NoError(t, err)
}

func TestQueueIsLeft(t *testing.T) {
	t.Parallel()
	q := newQueue(1, 1)
	_, err := q.enter(t.Context(), "a", false)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client hung up"))
	_, err = q.enter(ctx, "a", false)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, q.waits(0))
}
