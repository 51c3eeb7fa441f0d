package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// A validation with --live finds that all is well while the gateway runs, and what is wrong once the parts around it are
// gone.
func TestValidateLive(t *testing.T) {
	t.Parallel()
	s := newSystemWith(t, setup{tenant: shortRetries, database: storetest.EmptyPostgres(t)})
	partner := s.startRecorder(ok)
	s.gateway.line("integration configured")
	secret := filepath.Join(s.dir, "their.secret")
	require.NoError(t, os.WriteFile(secret, []byte(outboundSecret), 0o600))
	stored := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.put("/tenants/initech", map[string]any{"name": "Initech"})
	s.cli("integration", "set", "initech/payroll", "--url", stored.URL+"/in?client=1", "--secret-file", secret)
	sent := len(partner.of("VERIFY"))
	require.Equal(t, map[string]string{"database": "ok", "clock": "ok", "documents": "ok", "temporal": "ok", "search attributes": "ok",
		"public_url": "ok warning", "acme/hris": "ok", "initech/payroll": "ok"}, s.examined(0))
	require.Len(t, partner.of("VERIFY"), sent, "it was sent an event")
	stored.Close()
	require.Equal(t, "failed", s.examined(1)["initech/payroll"])

	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	s.temporal.kill()
	require.NoError(t, partner.server.Close())
	s.database = "sqlite:" + s.dir + "/absent/hiregate.db"
	s.configure()
	require.Equal(t, map[string]string{"database": "failed", "documents": "ok", "temporal": "failed", "public_url": "failed",
		"acme/hris": "failed"}, s.examined(1))
	require.NoError(t, exec.Command("rm", "-r", s.dir+"/documents").Run())
	require.Equal(t, "warning", s.examined(1)["documents"])
}

// examined validates the system's Caddyfile with --live, and returns the verdicts on each subject.
func (s *system) examined(code int) map[string]string {
	s.t.Helper()
	c := exec.Command(hiregate(s.t), "validate", "--live", "--json", "--lax", "--config", s.caddyfile(), "--adapter", "caddyfile")
	out, _ := c.Output() // the code says how
	require.Equal(s.t, code, c.ProcessState.ExitCode(), "%s", out)
	verdicts := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := decoded[struct{ Subject, Verdict string }](s.t, line)
		verdicts[f.Subject] = strings.TrimSpace(verdicts[f.Subject] + " " + f.Verdict)
	}
	return verdicts
}
