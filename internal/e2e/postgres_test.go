package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// TestRestartOfPostgreSQLCostsNoAcknowledgedExport crashes the gateway's database under load. While it is away exports
// are answered with 503; what was answered 2xx arrives.
func TestRestartOfPostgreSQLCostsNoAcknowledgedExport(t *testing.T) {
	t.Parallel()
	server := storetest.StartServer(t)
	s := newSystemWith(t, setup{database: server.Address("postgres"),
		tenant: "integration hris {\nurl http://PARTNER/inbound\nsecret " + outboundSecret + "\nretry 200ms 500ms 1s\n}"})
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })

	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var refused atomic.Int64
	var done atomic.Bool
	var senders sync.WaitGroup
	t.Cleanup(func() { done.Store(true); senders.Wait() })
	for w := range 4 {
		senders.Go(func() {
			for n := 0; !done.Load(); n++ {
				id := fmt.Sprintf("u-%d-%d", w, n)
				switch status, answer, err := s.send(id, minimal(id)); {
				case err != nil:
					t.Errorf("the gateway did not answer: %v", err)
				case status == http.StatusAccepted:
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				case status == http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					t.Errorf("another answer than 202 or 503: %d %s", status, answer)
				}
				wait(t, 5*time.Millisecond)
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	for range 2 {
		before := count()
		require.Eventually(t, func() bool { return count() > before+50 }, patience, time.Millisecond, "nothing is accepted")
		require.NoError(t, server.Stop())
		was := refused.Load()
		require.Eventually(t, func() bool { return refused.Load() > was }, patience, time.Millisecond,
			"nothing was refused while the database is away")
		require.Eventually(t, func() bool { // it asks the database once a second
			resp, err := http.Get(s.url("/healthz"))
			return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusServiceUnavailable
		}, patience, 10*time.Millisecond, "healthz says that all is well")
		require.NoError(t, server.Start())
	}
	before := count()
	require.Eventually(t, func() bool { return count() > before+50 }, patience, time.Millisecond,
		"nothing is accepted after the restart")
	done.Store(true)
	senders.Wait()
	require.Eventually(t, func() bool {
		arrived := map[string]bool{}
		for _, r := range partner.of("CANDIDATE-EXPORT") {
			arrived[r.id] = true
		}
		for id := range acknowledged {
			if !arrived[id] {
				return false
			}
		}
		return true
	}, 2*time.Minute, 100*time.Millisecond, "an acknowledged export did not arrive")
	t.Logf("%d acknowledged, %d refused", len(acknowledged), refused.Load())
}

// A gateway that waits for another one to bring the database up to date ends when it is told to.
func TestTerminatedWhileItWaitsForAMigration(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, lock.DefaultLockID)
	require.NoError(t, err)
	ports := freePorts(t, 3)
	s := &system{setup: setup{database: address}, t: t, dir: t.TempDir(), http: ports[0], admin: ports[1],
		temporalPort: ports[2]}
	s.configure()
	gateway := start(t, []string{"XDG_CONFIG_HOME=" + s.dir, "XDG_DATA_HOME=" + s.dir}, hiregate(t), "run", "--config",
		s.caddyfile(), "--adapter", "caddyfile")
	gateway.line("waiting for another gateway")
	gateway.signal(syscall.SIGTERM)
	gateway.exitCode()
}
