package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReloadsLoseNothing reloads the gateway 12 times under 100 exports/s over 32 connections that are kept, and
// beside them 20/s on connections of their own.
func TestReloadsLoseNothing(t *testing.T) {
	const reloads, connections, perSecond = 12, 32, 100
	integration := func(n int) string {
		return fmt.Sprintf("integration hris {\nurl http://PARTNER/inbound\nsecret %s\nretry 200ms 500ms 1s\nin_flight %d\n}", outboundSecret, 16+n%2)
	}
	s := newSystem(t, integration(0))
	partner := s.startRecorder(ok)

	var opened atomic.Int64
	stop := s.load(connections, perSecond, &opened)
	counted := 0.0
	for n := range reloads {
		next := time.Now().Add(400 * time.Millisecond)
		s.tenant = integration(n + 1)
		s.reload()
		now := s.metric("hiregate_received_total", `result="accepted"`)
		require.GreaterOrEqual(t, now, counted, "a counter fell")
		counted = now
		wait(t, time.Until(next))
	}
	sent := stop()
	require.False(t, t.Failed(), "requests failed during reloads")
	require.Equal(t, float64(sent), s.metric("hiregate_received_total", `result="accepted"`))
	require.Eventually(t, func() bool {
		seen := map[string]bool{}
		for _, r := range partner.of("CANDIDATE-EXPORT") {
			seen[r.id] = true
		}
		return len(seen) == sent
	}, 3*time.Minute, 100*time.Millisecond, "exports were lost")
	t.Logf("%d exports through %d reloads, over %d kept connections that were opened %d times, %d deliveries", sent,
		reloads, connections,
		opened.Load(), len(partner.of("CANDIDATE-EXPORT")))
}

// load sends exports u-1, u-2, … at a rate over a number of kept connections in turn, and beside them a fifth as many
// on connections of their own. Each must be accepted at the first try: none is sent twice. stop returns how many were
// sent; opened counts the kept connections.
func (s *system) load(connections, perSecond int, opened *atomic.Int64) (stop func() (sent int)) {
	s.t.Helper()
	var senders sync.WaitGroup
	var sent atomic.Int64
	send := func(through func(id string, body []byte) (int, []byte, error)) {
		n := sent.Add(1)
		status, answer, err := through(fmt.Sprintf("u-%d", n), minimal(fmt.Sprintf("c-%d", n)))
		assert.NoError(s.t, err, "export %d", n)
		assert.Equal(s.t, http.StatusAccepted, status, "export %d: %s", n, answer)
	}
	due, done := make(chan struct{}), make(chan struct{})
	for range connections {
		kept := s.keptConnection(opened)
		senders.Go(func() {
			for range due {
				send(kept)
			}
		})
	}
	senders.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		defer close(due)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if n%5 == 0 {
				senders.Go(func() { send(s.send) })
			}
			due <- struct{}{} // to the one that has waited longest
		}
	})
	return func() int {
		close(done)
		senders.Wait()
		return int(sent.Load())
	}
}
