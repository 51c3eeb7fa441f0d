package e2e

import (
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
// gateways are killed at random, and Temporal once. Each export arrives, and what arrives twice is only what was under
// way when a gateway was killed.
func TestKilledInABurst(t *testing.T) {
	const exports, kills, senders = 2000, 3, 16
	burst := func(t *testing.T, address string, gateways int) {
		t.Parallel()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		s := newSystemWith(t, setup{database: address, documents: "file:" + t.TempDir(),
			tenant: "integration hris {\nurl http://PARTNER/inbound\nsecret " + outboundSecret + "\nretry 200ms 500ms 1s\n}"})
		partner := s.startRecorder(ok)
		nodes := []*system{s}
		for len(nodes) < gateways {
			nodes = append(nodes, s.startNode())
		}

		var next, accepted atomic.Int64
		var sending sync.WaitGroup
		t.Cleanup(func() { next.Store(exports); sending.Wait() })
		for range senders {
			sending.Go(func() {
				for n := next.Add(1); n <= exports; n = next.Add(1) {
					id := fmt.Sprint("u-", n)
					for try := n; t.Context().Err() == nil; try++ { // at another node, where there is one
						status, _, err := nodes[try%int64(len(nodes))].send(id, minimal(id))
						if err == nil && (status == http.StatusAccepted || status == http.StatusOK) {
							accepted.Add(1)
							break
						}
						wait(t, 20*time.Millisecond)
					}
				}
			})
		}
		killTemporal := random.IntN(kills + 1)
		for n := range kills + 1 {
			moment := exports/20 + n*exports/5 + random.IntN(exports/6)
			require.Eventually(t, func() bool { return len(partner.of("CANDIDATE-EXPORT")) >= moment }, 4*time.Minute,
				time.Millisecond)
			t.Logf("killed after %d acknowledgements and %d arrivals", accepted.Load(),
				len(partner.of("CANDIDATE-EXPORT")))
			if n == killTemporal {
				s.temporal.kill()
				s.startTemporal()
				continue
			}
			node := nodes[random.IntN(len(nodes))]
			node.gateway.kill()
			node.startGateway()
		}
		sending.Wait()

		arrived := map[string]int{}
		require.Eventually(t, func() bool {
			arrived = partner.arrivals()
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
			e := s.awaitOutcome(id, "delivered")
			if final++; strings.HasPrefix(e.Workflow, "exports/") {
				grouped++
			}
		}
		require.NotZero(t, grouped, "none of %d exports was delivered in a group", final)
		t.Logf("%d exports arrived, %d more than once; of %d, %d were in groups", len(arrived), twice, final, grouped)
	}
	t.Run("sqlite", func(t *testing.T) { burst(t, "", 1) })
	t.Run("postgres", func(t *testing.T) { burst(t, storetest.EmptyPostgres(t), 1) })
	t.Run("nodes", func(t *testing.T) { burst(t, storetest.EmptyPostgres(t), 2) })
}
