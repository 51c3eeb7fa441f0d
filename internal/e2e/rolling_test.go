package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// TestRollingUpgradeLosesNothing replaces two gateways of an earlier commit on one PostgreSQL in turn, behind a load balancer that asks
// each whether it is ready, under 100 exports/s over 32 connections that are kept. In between each version runs workflows that the
// other one started, as many wait for their next attempt.
func TestRollingUpgradeLosesNothing(t *testing.T) {
	t.Parallel()
	with := setup{former: true, database: storetest.Postgres(t), documents: "file:" + t.TempDir(), delay: "3s",
		tenant: "integration hris {\nurl http://PARTNER/inbound\nsecret " + outboundSecret + "\nretry 200ms 500ms 1s\n}"}
	one := newSystemWith(t, with)
	var n atomic.Int64
	partner := one.startRecorder(func(string, int) int {
		if n.Add(1)%3 == 2 { // it has answered VERIFY
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	other := one.startNode()

	nodes := []*system{one, other}
	b := startBalancer(t, nodes...)
	front := &system{t: t, http: b.port}
	var opened atomic.Int64
	stop := front.load(32, 100, &opened)
	for n, node := range nodes {
		b.awaits(n, true)
		was := b.nodes[n].served.Load()
		require.Eventually(t, func() bool { return b.nodes[n].served.Load() > was+100 }, patience, time.Millisecond,
			"nothing comes to a node")
		node.gateway.signal(syscall.SIGTERM)
		b.awaits(n, false)
		require.Equal(t, http.StatusOK, status(t, node.url("/healthz/live")), "it lives as long as it answers")
		require.Zero(t, node.gateway.exitCode())
		node.former = false
		node.startGateway()
		b.awaits(n, true)
	}
	sent := stop()
	require.False(t, t.Failed(), "requests failed while the gateways were replaced")
	require.Eventually(t, func() bool {
		seen := map[string]bool{}
		for _, r := range partner.of("CANDIDATE-EXPORT") {
			seen[r.id] = true
		}
		return len(seen) == sent
	}, 3*time.Minute, 100*time.Millisecond, "exports were lost")
	t.Logf("%d exports through the restart of each node", sent)
}

// startNode starts another gateway on the same database, documents and Temporal.
func (s *system) startNode() *system {
	s.t.Helper()
	ports := freePorts(s.t, 2)
	other := &system{setup: s.setup, t: s.t, dir: s.t.TempDir(), http: ports[0], admin: ports[1],
		temporalPort: s.temporalPort, own: s.own}
	other.configure()
	other.startGateway()
	return other
}

// status is what a GET is answered with.
func status(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// balancer passes each request on to the next of those nodes that say that they are ready. It sends nothing twice.
type balancer struct {
	t     *testing.T
	port  int
	next  atomic.Int64
	nodes []*balanced
}

type balanced struct {
	proxy  *httputil.ReverseProxy
	ready  atomic.Bool
	served atomic.Int64
}

func startBalancer(t *testing.T, nodes ...*system) *balancer {
	t.Helper()
	b := &balancer{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for _, node := range nodes {
		target, err := url.Parse(node.url(""))
		require.NoError(t, err)
		transport := &http.Transport{MaxIdleConnsPerHost: 64}
		t.Cleanup(transport.CloseIdleConnections)
		one := &balanced{proxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: transport}}
		b.nodes = append(b.nodes, one)
		asked := make(chan struct{})
		t.Cleanup(func() { cancel(); <-asked })
		go func() {
			defer close(asked)
			asks := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
			for failed := 0; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
				answer, err := asks.Get(node.url("/healthz/ready"))
				if err == nil {
					answer.Body.Close()
				}
				failed++
				if err == nil && answer.StatusCode == http.StatusOK {
					failed = 0
				}
				if failed != 1 { // a busy machine answers one too late now and then
					one.ready.Store(failed == 0)
				}
			}
		}()
	}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.port = server.Listener.Addr().(*net.TCPAddr).Port
	return b
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := int(b.next.Add(1))
	for n := range b.nodes {
		node := b.nodes[(first+n)%len(b.nodes)]
		if node.ready.Load() {
			node.proxy.ServeHTTP(w, r)
			node.served.Add(1)
			return
		}
	}
	http.Error(w, "no node is ready", http.StatusServiceUnavailable)
}

func (b *balancer) awaits(node int, ready bool) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return b.nodes[node].ready.Load() == ready }, patience, time.Millisecond)
}
