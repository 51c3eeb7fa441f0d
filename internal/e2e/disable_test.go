package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// cli is run for a command that must succeed.
func (s *system) cli(args ...string) (out string) {
	s.t.Helper()
	out, err := s.run(args...)
	require.NoError(s.t, err, out)
	return out
}

// reload has the gateway take up the Caddyfile as it is now.
func (s *system) reload() {
	s.t.Helper()
	s.configure()
	out, code := run(s.t, nil, hiregate(s.t), "reload", "--config", s.caddyfile(), "--adapter", "caddyfile", "--address",
		loopback(s.admin))
	require.Zero(s.t, code, out)
}

// What an operator disabled gets nothing, not even a VERIFY, through a restart and a reload that gives it another
// secret. What was held goes out once it is enabled.
func TestDisabledIntegrationGetsNothingUntilItIsEnabled(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	partner := s.startRecorder(ok)
	s.gateway.line("integration configured")
	require.Contains(t, s.cli("integration", "disable", "acme/hris", "--reason", "they move"), "is disabled")
	verified := len(partner.of("VERIFY"))
	ids := []string{s.accepted(minimal("c-1"))}

	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	s.startGateway()
	ids = append(ids, s.accepted(minimal("c-2")))
	s.tenant = strings.ReplaceAll(s.tenant, outboundSecret, outboundSecret+"-2")
	s.reload()
	ids = append(ids, s.accepted(minimal("c-3")))
	for _, id := range ids {
		e := s.awaitOutcome(id, "held")
		require.Contains(t, e.Deliveries[0].Reason, "an operator disabled it, because: they move")
		require.Contains(t, e.Deliveries[0].Reason, "hiregate integration enable acme/hris")
	}
	require.Contains(t, s.cli("integration", "list", "--json"), `"disabledBy":"operator"`)
	require.Empty(t, partner.of("CANDIDATE-EXPORT"))
	require.Len(t, partner.of("VERIFY"), verified)

	s.cli("integration", "enable", "acme/hris")
	for _, id := range ids {
		s.awaitOutcome(id, "delivered")
	}
	require.Len(t, partner.of("CANDIDATE-EXPORT"), len(ids))
	require.Greater(t, len(partner.of("VERIFY")), verified, "it was enabled without a VERIFY")
}
