package deploy

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// promtool's own checks, and its unit tests of the alert rules.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "config", "prometheus/prometheus.yml"},
		{"check", "rules", "--lint=all", "--lint-fatal", "prometheus/alerts.yml"},
		{"test", "rules", "prometheus/tests/alerts.yml"},
	} {
		out, err := exec.Command(program(t, "promtool"), args...).CombinedOutput()
		require.NoError(t, err, "promtool %s:\n%s", args, out)
		require.Contains(t, string(out), "SUCCESS")
	}
}
