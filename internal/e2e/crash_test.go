package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNothingAcknowledgedIsLost sends 1,000 exports at 200/s through a gateway that is killed at five random moments,
// while
// Temporal is stopped for a while in the middle. What was answered 2xx arrives at a partner that shares no code with
// us, with the same body. The sender repeats what was not answered 2xx, as a careful service does, under the same UUID.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	const exports, perSecond, kills = 1000, 200, 5
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	s := newSystem(t, "integration hris {\nurl http://PARTNER/inbound\nsecret "+outboundSecret+"\nretry 200ms 500ms 1s\n}")
	partner := start(t, nil, "node", "testdata/partner.mjs", fmt.Sprint(s.own), outboundSecret)
	partner.line("^listening")

	var acknowledged, repeats atomic.Int64
	hashes := make([]string, exports)
	var senders sync.WaitGroup
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		for n := range exports {
			<-tick.C
			body := minimal(fmt.Sprintf("c-%d", n))
			sum := sha256.Sum256(body)
			hashes[n] = hex.EncodeToString(sum[:])
			senders.Go(func() {
				for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
					status, _, err := s.send(fmt.Sprintf("u-%d", n), body)
					if err == nil && (status == http.StatusAccepted || status == http.StatusOK) {
						acknowledged.Add(1)
						return
					}
					repeats.Add(1)
					wait(t, 20*time.Millisecond)
				}
			})
		}
		senders.Wait()
	}()

	moments := make([]int, kills)
	for n := range moments {
		moments[n] = 20 + random.IntN(exports-200)
	}
	slices.Sort(moments)
	stopTemporal, startTemporal := int64(exports*2/5), int64(exports*3/5)
	for _, moment := range moments {
		for acknowledged.Load() < int64(moment) {
			if n := acknowledged.Load(); stopTemporal > 0 && n >= stopTemporal {
				stopTemporal = 0
				s.temporal.signal(syscall.SIGTERM)
				s.temporal.exitCode()
				t.Logf("Temporal stopped after %d acknowledgements", n)
			}
			wait(t, time.Millisecond)
		}
		wait(t, time.Duration(random.IntN(5000))*time.Microsecond)
		t.Logf("gateway killed after %d acknowledgements", acknowledged.Load())
		s.gateway.kill()
		s.startGateway()
	}
	if stopTemporal > 0 {
		s.temporal.signal(syscall.SIGTERM)
		s.temporal.exitCode()
		t.Logf("Temporal stopped after %d acknowledgements", acknowledged.Load())
	}
	for acknowledged.Load() < startTemporal {
		wait(t, time.Millisecond)
	}
	wait(t, 2*time.Second)
	s.startTemporal()
	t.Log("Temporal started again")
	<-sending
	require.Equal(t, int64(exports), acknowledged.Load(), "not every export was acknowledged in the end")

	arrived := map[string][]string{}
	require.Eventually(t, func() bool {
		clear(arrived)
		for line := range strings.Lines(partner.out.String()) {
			var one struct{ UUID, SHA256 string }
			if json.Unmarshal([]byte(line), &one) == nil && one.UUID != "" {
				arrived[one.UUID] = append(arrived[one.UUID], one.SHA256)
			}
		}
		return len(arrived) == exports
	}, 4*time.Minute, 200*time.Millisecond, "acknowledged exports did not arrive")
	duplicates := 0
	for n, want := range hashes {
		got := arrived[fmt.Sprintf("u-%d", n)]
		require.NotEmpty(t, got, "export u-%d was acknowledged and did not arrive", n)
		for _, one := range got {
			require.Equal(t, want, one, "export u-%d arrived with another body", n)
		}
		duplicates += len(got) - 1
	}
	t.Logf("%d exports acknowledged, %d arrived, %d of them more than once, %d requests repeated by the sender", exports,
		len(arrived), duplicates, repeats.Load())
}

// wait lets time pass that belongs to what is tested, not to waiting for a condition.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
