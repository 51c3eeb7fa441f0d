package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Receivers that are right pass `hiregate check receiver`: the gateway's, the one of `listen`, and a partner's that shares
// no code with us. One with another secret fails.
func TestSoundReceiversPassTheirCheck(t *testing.T) {
	t.Parallel()
	s := newReceiver(t, setup{})
	ports := freePorts(t, 2)
	listening := start(t, []string{"HIREGATE_SECRET=" + inboundSecret}, hiregate(t), "listen", "--addr", loopback(ports[0]),
		"--lifeline")
	listening.line("Listening")
	start(t, nil, "node", "testdata/partner.mjs", fmt.Sprint(ports[1]), inboundSecret).line("^listening")
	secret := func(text string) string {
		file := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	right := secret(inboundSecret)
	for name, url := range map[string]string{
		"gateway": "http://" + loopback(s.http) + "/hooks/acme",
		"listen":  "http://" + loopback(ports[0]) + "/inbound",
		"partner": "http://" + loopback(ports[1]) + "/inbound",
	} {
		out, code := run(t, nil, hiregate(t), "check", "receiver", url, "--secret", right, "--format", "json")
		require.Zero(t, code, "%s: %s", name, out)
		checks := 0
		for line := range strings.Lines(out) {
			var r struct{ ID, Verdict string }
			require.NoError(t, json.Unmarshal([]byte(line), &r), line)
			require.True(t, r.Verdict == "passed" || r.ID == "B-26", "%s: %s", name, line) // B-26 needs a second secret
			checks++
		}
		require.Greater(t, checks, 20)
	}
	out, code := run(t, nil, hiregate(t), "check", "receiver", "http://"+loopback(s.http)+"/hooks/acme", "--secret",
		secret("another"), "--only", "B-01")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "B-01")
	require.Contains(t, out, "401")
}
