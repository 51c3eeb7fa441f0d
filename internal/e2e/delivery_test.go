package e2e

import (
	"net/http"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const shortRetries = "integration hris {\nurl http://PARTNER/inbound?client=acme\nsecret " + outboundSecret +
	"\nretry 500ms 1s 2s\n}"

// ok answers every event with 200.
func ok(string, int) int { return http.StatusOK }

func TestPartnerThatFailsThreeTimesGetsTheSameBytesAFourthTime(t *testing.T) {
	t.Parallel()
	s := newSystem(t, "integration hris {\nurl http://PARTNER/inbound\nsecret "+outboundSecret+"\nretry 2s 3s 4s\n}")
	partner := s.startRecorder(func(event string, n int) int {
		if event == "CANDIDATE-EXPORT" && n <= 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	id := s.accepted(minimal("c-1"))
	e := s.awaitOutcome(id, "delivered")
	require.Len(t, e.Deliveries, 1)
	attempts := e.Deliveries[0].Attempts
	require.Len(t, attempts, 4)
	require.Equal(t, []int{500, 500, 500, 200}, []int{attempts[0].Status, attempts[1].Status, attempts[2].Status,
		attempts[3].Status})
	requests := partner.of("CANDIDATE-EXPORT")
	require.Len(t, requests, 4)
	for _, r := range requests {
		require.Equal(t, minimal("c-1"), r.body)
		require.Equal(t, id, r.id)
	}
	// The schedule's gaps, ±20 %: as they were planned, and as they came about, plus what Temporal takes to run what is
	// due.
	planned := regexp.MustCompile(`"next_in":"([^"]+)"`).FindAllStringSubmatch(s.gateway.out.String(), -1)
	require.Len(t, planned, 3)
	const late = time.Second
	for n, gap := range []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second} {
		next, err := time.ParseDuration(planned[n][1])
		require.NoError(t, err)
		require.InDelta(t, gap, next, 0.2*float64(gap)+float64(10*time.Millisecond), "planned gap %d", n+1)
		waited := attempts[n+1].StartedAt.Sub(attempts[n].StartedAt)
		require.GreaterOrEqual(t, waited, gap*8/10, "gap %d", n+1)
		require.LessOrEqual(t, waited, gap*12/10+late, "gap %d", n+1)
	}
}

func TestRedirectIsAFailureAndIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	partner := s.startRecorder(func(event string, n int) int {
		if event == "CANDIDATE-EXPORT" && n == 1 {
			return http.StatusFound
		}
		return http.StatusOK
	})
	e := s.awaitOutcome(s.accepted(minimal("c-1")), "delivered")
	require.Len(t, e.Deliveries[0].Attempts, 2)
	require.Equal(t, http.StatusFound, e.Deliveries[0].Attempts[0].Status)
	for _, r := range partner.of("CANDIDATE-EXPORT") {
		require.Equal(t, "/inbound", r.path, "a redirect was followed")
	}
}

func TestGoneDisablesTheIntegrationAndHoldsItsExports(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	partner := s.startRecorder(func(event string, n int) int {
		if event == "CANDIDATE-EXPORT" && n == 1 {
			return http.StatusGone
		}
		return http.StatusOK
	})
	s.gateway.line("integration configured")
	first := s.accepted(minimal("c-1"))
	e := s.awaitOutcome(first, "held")
	require.Contains(t, e.Deliveries[0].Reason, "410")
	second := s.accepted(minimal("c-2"))
	s.awaitOutcome(second, "held")
	require.Len(t, partner.of("CANDIDATE-EXPORT"), 1, "a disabled integration got another export")
	verified := len(partner.of("VERIFY"))
	const hris = `integration="hris",tenant="acme"`
	s.awaitMetric("hiregate_deliveries_held", hris, 2)
	s.awaitMetric("hiregate_integration_configured", hris, 0)

	out, code := run(t, nil, hiregate(t), "integration", "enable", "acme/hris", "--admin", loopback(s.admin))
	require.Zero(t, code, out)
	s.awaitOutcome(first, "delivered")
	s.awaitOutcome(second, "delivered")
	require.Greater(t, len(partner.of("VERIFY")), verified, "it was enabled without a VERIFY")
	s.awaitMetric("hiregate_integration_configured", hris, 1)
	s.awaitMetric("hiregate_deliveries_held", hris, 0)
}

func TestNoExportLeavesBeforeVerifyIsAnswered200(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	listen := func(status string) *process {
		p := start(t, []string{"HIREGATE_SECRET=" + outboundSecret}, hiregate(t), "listen", "--addr", s.partner(),
			"--verify-status", status, "--lifeline")
		p.line("Listening")
		return p
	}
	partner := listen("201")
	partner.line("verify .*answered 201")
	var ids []string
	for range 5 {
		ids = append(ids, s.accepted(minimal("c-1")))
	}
	for _, id := range ids {
		s.awaitOutcome(id, "held")
	}
	partner.line("(?s)verify .*answered 201.*verify .*answered 201") // it is asked again, and again
	require.NotContains(t, partner.out.String(), "  export  ")
	partner.signal(syscall.SIGTERM)
	partner.exitCode()

	partner = listen("200")
	for _, id := range ids {
		s.awaitOutcome(id, "delivered")
		partner.line(id)
	}
}

func TestRedeliveryHasTheSameBytes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	partner := s.startRecorder(ok)
	id := s.accepted(minimal("c-1"))
	s.awaitOutcome(id, "delivered")
	out, code := run(t, nil, hiregate(t), "export", "redeliver", "acme/"+id, "--admin", loopback(s.admin))
	require.Zero(t, code, out)
	requests := partner.awaitExports(t, 2)
	require.Equal(t, requests[0].body, requests[1].body)
	require.Equal(t, requests[0].id, requests[1].id)
	require.Eventually(t, func() bool {
		e, ok := s.show(id)
		return ok && len(e.Deliveries) == 2 && e.Deliveries[1].Outcome == "delivered" && e.Deliveries[1].Round == 1
	}, patience, 200*time.Millisecond)
}

// A gateway whose database was lost is refused its namespace, until its configuration says that it takes it over. It finds the workflows of the former one in Temporal; an export that is sent again is
// not taken for delivered because of them.
func TestNewDatabaseOnAnOldNamespaceDelivers(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	partner := s.startRecorder(ok)
	id := s.accepted(minimal("c-1"))
	s.awaitOutcome(id, "delivered")
	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	s.remove("hiregate.db*")
	refused := s.runGateway()
	require.Equal(t, 1, refused.exitCode())
	line := refused.line("belongs to another database")
	take := regexp.MustCompile("`(take_over [0-9a-f-]{36})`").FindStringSubmatch(line)
	require.NotNil(t, take, "%s", line)
	s.connection = loopback(s.temporalPort) + " {\n" + take[1] + "\n}"
	s.configure()
	s.startGateway()
	require.Regexp(t, `configuration +take-over .* namespaces/default`, s.cli("audit", "list", "--action", "take-over"))
	status, answer, err := s.send(id, minimal("c-1"))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
	e := s.awaitOutcome(id, "delivered")
	require.Equal(t, 1, e.Deliveries[0].Round)
	partner.awaitExports(t, 2)
}
