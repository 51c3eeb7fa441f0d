package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOutageFromTheAlertToTheLastExport is the story of docs/repair.md, command by command: a client is down over a
// weekend, somebody is told, looks, disables, enables, and redelivers what failed. Hours go by in the database alone.
func TestOutageFromTheAlertToTheLastExport(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	var down atomic.Bool
	client := s.startRecorder(func(string, int) int {
		if down.Load() {
			return 503
		}
		return 200
	})
	s.gateway.line("integration configured")
	s.awaitOutcome(s.accepted(minimal("c-friday")), "delivered")
	require.Contains(t, s.cli("status"), "Nothing needs you.")

	// The client goes down. Three hours later it is still down.
	down.Store(true)
	var weekend []string
	for n := range 5 {
		weekend = append(weekend, s.accepted(minimal(fmt.Sprint("c-weekend-", n))))
	}
	for _, id := range weekend {
		s.awaitOutcome(id, "retrying")
	}
	s.goBy(3 * time.Hour)
	prometheus := startPrometheus(t, s, "for: 5m", "for: 1s")
	const partnerDown = `ALERTS{alertname="PartnerDown",alertstate="firing",tenant="acme",integration="hris"}`
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, prometheus.query(c, partnerDown), 1) }, patience,
		500*time.Millisecond, "nobody is told")

	status := s.cli("status")
	require.Regexp(t, `^acme/hris: it is failing, \d+ times in a row: answered 503; .*exports wait for it: 5\n`, status)
	shown := decoded[struct {
		State                string
		Waiting              int
		Since, OldestWaiting time.Time
		LastSuccess          time.Time
		ConsecutiveFailures  int
	}](t, s.cli("integration", "show", "acme/hris", "--json"))
	require.Equal(t, "failing", shown.State)
	require.Equal(t, 5, shown.Waiting)
	require.GreaterOrEqual(t, shown.ConsecutiveFailures, 3)
	for _, at := range []time.Time{shown.Since, shown.OldestWaiting, shown.LastSuccess} {
		require.Greater(t, time.Since(at), 3*time.Hour)
		require.Less(t, time.Since(at), 4*time.Hour)
	}

	// Nobody acts: on Monday the 72 hours of what came on Friday are over. Temporal's clock can't be moved, so it comes
	// back empty.
	s.temporal.signal(syscall.SIGTERM)
	s.temporal.exitCode()
	s.goBy(70 * time.Hour)
	s.remove("temporal.db*")
	s.startTemporal()
	for _, id := range weekend {
		e := s.awaitOutcome(id, "failed")
		require.Equal(t, "partner_fault", e.Deliveries[len(e.Deliveries)-1].Class)
	}

	// They were given up when the gateway began; a document of Friday was lost as well. The next restart ends neither alert.
	const givenUp = `ALERTS{alertname=~"DeliveryFailed|DocumentsLost",alertstate="firing",tenant="acme"}`
	const begun = `process_start_time_seconds{job="hiregate"}`
	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	s.change(`INSERT INTO documents (id, export_id, tenant, position, source_url, state, reason, tries, blob, size, declared, detected,
		file_name, created_at) SELECT id, id, tenant, 0, x'', 'given_up', '', 1, '', 0, '', '', '', received_at FROM exports
		ORDER BY id LIMIT 1`)
	s.startGateway()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, prometheus.query(c, givenUp), 2) }, patience,
		500*time.Millisecond, "nobody is told what was lost")
	before := prometheus.query(t, begun)
	s.goBy(0)
	require.Eventually(t, func() bool {
		now := prometheus.query(t, begun)
		return len(now) == 1 && now[0] != before[0]
	}, patience, 100*time.Millisecond, "the gateway is not scraped again")
	scraped := prometheus.query(t, "vector(time())")[0]
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Len(c, prometheus.query(c, "timestamp("+givenUp+") > 2 + "+scraped), 2)
	}, patience, 500*time.Millisecond, "the restart ended an alert")

	// The operator keeps the new ones, until the client is repaired and tried out.
	s.cli("integration", "disable", "acme/hris", "--reason", "down since Friday; they are told")
	var monday []string
	for n := range 3 {
		monday = append(monday, s.accepted(minimal(fmt.Sprint("c-monday-", n))))
	}
	for _, id := range monday {
		require.Contains(t, s.awaitOutcome(id, "held").Deliveries[0].Reason, "because: down since Friday")
	}
	require.Contains(t, s.cli("status"), "acme/hris: it is disabled: an operator disabled it, because: down since Friday")
	_, err := s.run("integration", "test", "acme/hris")
	require.Error(t, err, "the test export was received by a client that is down")
	down.Store(false)
	sent := len(client.of("CANDIDATE-EXPORT"))
	require.Contains(t, s.cli("integration", "test", "acme/hris"), "acme/hris received the test export")

	s.cli("integration", "enable", "acme/hris")
	for _, id := range monday {
		s.awaitOutcome(id, "delivered")
	}

	failed := []string{"export", "redeliver", "--tenant", "acme", "--integration", "hris", "--since", "4d"}
	preview := decoded[struct{ Count int }](t, s.cli(append(failed, "--dry-run", "--json")...))
	require.Equal(t, len(weekend), preview.Count)
	require.Contains(t, s.cli(failed...), fmt.Sprintf("of %[1]d exports is finished: %[1]d delivered, 0 failed, "+
		"0 on their way, 0 skipped", len(weekend)))
	require.Zero(t, decoded[struct{ Count int }](t, s.cli(append(failed, "--dry-run", "--json")...)).Count)

	// All have arrived, and nothing twice.
	arrived := func() map[string]int {
		times := map[string]int{}
		for _, r := range client.of("CANDIDATE-EXPORT")[sent:] {
			if !strings.HasPrefix(r.id, "test-") {
				times[r.id]++
			}
		}
		return times
	}
	want := map[string]int{}
	for _, id := range append(weekend, monday...) {
		want[id] = 1
	}
	require.Equal(t, want, arrived())
	require.NotContains(t, s.cli("export", "list", "--undelivered"), "acme/")

	// Twice is what is named, alone.
	s.cli("export", "redeliver", "acme/"+monday[0], "--integration", "hris")
	want[monday[0]] = 2
	require.Eventually(t, func() bool { return arrived()[monday[0]] == 2 }, patience, 100*time.Millisecond)
	require.Equal(t, want, arrived())
	require.Eventually(t, func() bool {
		out, err := s.run("status")
		return err == nil && strings.HasPrefix(out, "Nothing needs you.")
	}, patience, 500*time.Millisecond)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, prometheus.query(c, partnerDown)) }, patience,
		500*time.Millisecond, "the alert does not end")
}

// goBy restarts the gateway with a database in which all that happened is longer ago.
func (s *system) goBy(d time.Duration) {
	s.t.Helper()
	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	for table, columns := range map[string][]string{
		"exports":            {"received_at", "documents_till", "deliver_till", "dispatched_at", "dispatch_after"},
		"deliveries":         {"created_at", "updated_at", "next_at", "held_since"},
		"attempts":           {"started_at"},
		"integration_states": {"updated_at"},
		"integration_health": {"last_success_at", "recovered_at", "failing_since"},
		"integration_hours":  {"hour"},
	} {
		for _, column := range columns {
			s.change(fmt.Sprintf(`UPDATE %s SET %s = %s - %d`, table, column, column, d.Microseconds()))
		}
	}
	s.startGateway()
}
