package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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

// TestKilledInABurst sends 1,000 exports as fast as they are accepted, so that they are delivered in groups. Meanwhile
// gateways are killed at random, and Temporal once; -count=100 does so for hours. Each export arrives, and what arrives twice is only what was under
// way when a gateway was killed. Nodes keep documents, of each tenth export, in a bucket that is killed as well: none is
// lost.
func TestKilledInABurst(t *testing.T) {
	const exports, kills, senders = 1000, 3, 16
	document := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "the document of "+r.URL.Path)
	}))
	t.Cleanup(document.Close)
	burst := func(t *testing.T, address string, gateways int) {
		t.Parallel()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		killed := []string{"node", "node", "node", "temporal"}
		place := ""
		var b *bucket
		if gateways > 1 {
			killed[0], b = "bucket", startBucket(t)
			place = b.option()
		}
		random.Shuffle(len(killed), func(i, j int) { killed[i], killed[j] = killed[j], killed[i] })
		s := newSystemWith(t, setup{database: address, documents: place,
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
					body := minimal(id)
					if b != nil && n%10 == 0 {
						body = withDocument(id, document.URL)
					}
					for try := n; t.Context().Err() == nil; try++ { // at another node, where there is one
						status, _, err := nodes[try%int64(len(nodes))].send(id, body)
						if err == nil && (status == http.StatusAccepted || status == http.StatusOK) {
							accepted.Add(1)
							break
						}
						wait(t, 20*time.Millisecond)
					}
				}
			})
		}
		for n, what := range killed {
			moment := exports/20 + n*exports/5 + random.IntN(exports/6)
			require.Eventually(t, func() bool { return len(partner.of("CANDIDATE-EXPORT")) >= moment }, 4*time.Minute,
				time.Millisecond)
			t.Logf("%s killed after %d acknowledgements and %d arrivals", what, accepted.Load(),
				len(partner.of("CANDIDATE-EXPORT")))
			switch what {
			case "temporal":
				s.temporal.kill()
				s.startTemporal()
			case "bucket":
				b.kill()
				b.start()
			default:
				node := nodes[random.IntN(len(nodes))]
				node.gateway.kill()
				node.startGateway()
			}
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
		if b != nil {
			have := map[string]bool{}
			for _, one := range partner.of("CANDIDATE-EXPORT") {
				for _, url := range attachments(t, one.body) {
					requireDocument(t, url, "the document of /"+one.id)
					have[one.id] = true
				}
			}
			require.Len(t, have, exports/10)
		}
		t.Logf("%d exports arrived, %d more than once; of %d, %d were in groups", len(arrived), twice, final, grouped)
	}
	t.Run("sqlite", func(t *testing.T) { burst(t, "", 1) })
	if *everywhere {
		t.Run("postgres", func(t *testing.T) { burst(t, storetest.EmptyPostgres(t), 1) })
	}
	t.Run("nodes", func(t *testing.T) { burst(t, storetest.EmptyPostgres(t), 2) })
}
