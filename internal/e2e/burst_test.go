package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// mostUnderWay is how many deliveries to one integration a gateway is about to make, makes, or notes at a time.
const mostUnderWay = 64 + 16

// TestKilledInABurst sends 2,000 exports as fast as they are accepted, so that they are delivered in groups. Meanwhile
// the gateway is killed three times at random, and Temporal once. Each export arrives, and what arrives twice is only
// what was under way when the gateway was killed.
func TestKilledInABurst(t *testing.T) {
	const exports, kills, senders = 2000, 3, 16
	burst := func(t *testing.T, address string) {
		t.Parallel()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		s := newSystemWith(t, setup{database: address,
			tenant: "integration hris {\nurl http://PARTNER/inbound\nsecret " + outboundSecret + "\nretry 200ms 500ms 1s\n}"})
		partner := s.startRecorder(func(string, int) int { return http.StatusOK })

		var next, accepted atomic.Int64
		var sending sync.WaitGroup
		t.Cleanup(func() { next.Store(exports); sending.Wait() })
		for range senders {
			sending.Go(func() {
				for n := next.Add(1); n <= exports; n = next.Add(1) {
					id := fmt.Sprint("u-", n)
					for t.Context().Err() == nil {
						status, _, err := s.send(id, minimal(id))
						if err == nil && (status == http.StatusAccepted || status == http.StatusOK) {
							accepted.Add(1)
							break
						}
						wait(t, 20*time.Millisecond)
					}
				}
			})
		}
		for n := range kills {
			moment := exports/20 + n*exports/4 + random.IntN(exports/5)
			require.Eventually(t, func() bool { return len(partner.of("CANDIDATE-EXPORT")) >= moment }, 4*time.Minute,
				time.Millisecond)
			if n == 1 {
				s.temporal.kill()
				s.startTemporal()
			}
			t.Logf("gateway killed after %d acknowledgements and %d arrivals", accepted.Load(),
				len(partner.of("CANDIDATE-EXPORT")))
			s.gateway.kill()
			s.startGateway()
		}
		sending.Wait()

		arrived := map[string]int{}
		require.Eventually(t, func() bool {
			clear(arrived)
			for _, one := range partner.of("CANDIDATE-EXPORT") {
				arrived[one.id]++
			}
			return len(arrived) == exports
		}, 4*time.Minute, 200*time.Millisecond, "accepted exports did not arrive")
		twice := 0
		for _, n := range arrived {
			twice += n - 1
		}
		require.LessOrEqual(t, twice, kills*mostUnderWay)

		grouped, final := 0, 0
		for n := 1; n <= exports; n += 50 {
			id := fmt.Sprint("u-", n)
			s.awaitOutcome(id, "delivered")
			var e struct{ Workflow string }
			require.NoError(t, json.Unmarshal([]byte(body(t, fmt.Sprintf("http://%s/hiregate/v1/tenants/acme/exports/%s",
				loopback(s.admin), id))), &e))
			if final++; strings.HasPrefix(e.Workflow, "exports/") {
				grouped++
			}
		}
		require.NotZero(t, grouped, "none of %d exports was delivered in a group", final)
		t.Logf("%d exports arrived, %d more than once; of %d, %d were in groups", len(arrived), twice, final, grouped)
	}
	t.Run("sqlite", func(t *testing.T) { burst(t, "") })
	t.Run("postgres", func(t *testing.T) { burst(t, storetest.EmptyPostgres(t)) })
}
