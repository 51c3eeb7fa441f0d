package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReloadsLoseNothing reloads the gateway every 400 ms for 20 s, under 100 exports/s: half of them on connections of
// their own, half on connections that are kept.
func TestReloadsLoseNothing(t *testing.T) {
	const seconds, perSecond = 20, 100
	integration := func(n int) string {
		return fmt.Sprintf("integration hris {\nurl http://PARTNER/inbound\nsecret %s\nretry 200ms 500ms 1s\nin_flight %d\n}", outboundSecret, 16+n%2)
	}
	s := newSystem(t, integration(0))
	partner := s.startRecorder(ok)

	var senders sync.WaitGroup
	var failed, sent atomic.Int64
	end := time.Now().Add(seconds * time.Second)
	senders.Go(func() {
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for time.Now().Before(end) {
			<-tick.C
			n := sent.Add(1)
			senders.Go(func() {
				send := s.send
				if n%2 == 0 {
					send = s.sendKeptAlive
				}
				status, answer, err := send(fmt.Sprintf("u-%d", n), minimal(fmt.Sprintf("c-%d", n)))
				if err != nil || status != http.StatusAccepted {
					failed.Add(1)
					t.Errorf("export %d: %d %s %v", n, status, answer, err)
				}
			})
		}
	})
	reloads, counted := 0, 0.0
	for time.Now().Before(end) {
		next := time.Now().Add(400 * time.Millisecond)
		reloads++
		s.tenant = integration(reloads)
		s.configure()
		out, code := run(t, nil, hiregate(t), "reload", "--config", s.caddyfile(), "--adapter", "caddyfile", "--address", loopback(s.admin))
		require.Zero(t, code, out)
		now := s.metric("hiregate_received_total", `result="accepted"`)
		require.GreaterOrEqual(t, now, counted, "a counter fell")
		counted = now
		wait(t, time.Until(next))
	}
	senders.Wait()
	require.Zero(t, failed.Load(), "requests failed during reloads")
	require.Equal(t, float64(sent.Load()), s.metric("hiregate_received_total", `result="accepted"`))
	require.Eventually(t, func() bool {
		seen := map[string]bool{}
		for _, r := range partner.of("CANDIDATE-EXPORT") {
			seen[r.id] = true
		}
		return len(seen) == int(sent.Load())
	}, 3*time.Minute, 100*time.Millisecond, "exports were lost")
	t.Logf("%d exports through %d reloads, %d deliveries", sent.Load(), reloads, len(partner.of("CANDIDATE-EXPORT")))
}
