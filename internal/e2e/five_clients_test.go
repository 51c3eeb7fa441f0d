package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The commands of docs/install.md for five clients, as they stand there: those of a block sh one after the other, those of a block
// shell in a terminal of its own. Only ports and addresses are other ones.
func TestFiveClients(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	require.NoError(t, err)
	caddyfile, err := os.ReadFile(filepath.Join("..", "..", "caddyfile", "five-clients.Caddyfile"))
	require.NoError(t, err)
	ports := freePorts(t, 6)
	port := func(n int) string { return strconv.Itoa(ports[n]) }
	moved := strings.NewReplacer(
		"localhost:8443", "localhost:"+port(0),
		"127.0.0.1:9099", loopback(ports[1]),
		"egress allow 127.0.0.1 9099", "egress allow 127.0.0.1 "+port(1),
		"9180", port(2),
		"http_port 8080", "http_port "+port(3),
		"{$HIREGATE_TEMPORAL:127.0.0.1:7233}", loopback(ports[4]),
		"temporal-dev ", "temporal-dev -lifeline -ui-port 0 -port "+port(4)+" ",
		"\tgrace_period 30s\n", "\tgrace_period 30s\n\tadmin "+loopback(ports[5])+"\n\tpersist_config off\n",
	)
	top := t.TempDir()
	programs := filepath.Join(top, "bin")
	require.NoError(t, os.MkdirAll(programs, 0o700))
	require.NoError(t, os.Symlink(hiregate(t), filepath.Join(programs, "hiregate")))
	require.NoError(t, os.Symlink(temporalDev(t), filepath.Join(programs, "temporal-dev")))
	require.NoError(t, os.Mkdir(filepath.Join(top, "caddyfile"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(top, "caddyfile", "five-clients.Caddyfile"),
		[]byte(moved.Replace(string(caddyfile))), 0o600))
	environment := append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "HIREGATE_ADMIN="+loopback(ports[5]))

	folder := top
	sh := func(commands string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", commands)
		cmd.Dir, cmd.Env = folder, environment
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	var last string
	for _, block := range regexp.MustCompile("(?ms)^```(sh|shell)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		commands := moved.Replace(block[2])
		if block[1] == "shell" {
			commands = regexp.MustCompile(`\b(hiregate (run|listen)|temporal-dev) `).ReplaceAllString(commands, "exec $0")
			start(t, environment, "bash", "-euc", "cd "+folder+"; "+commands)
			continue
		}
		require.Eventually(t, func() bool { // the programs of the blocks before need a moment
			var err error
			last, err = sh(commands)
			if err != nil {
				t.Logf("%s\n%s", commands, last)
			}
			return err == nil || t.Context().Err() != nil
		}, patience, 500*time.Millisecond, commands)
		folder = filepath.Join(top, "five")
	}
	for _, client := range []string{"acme", "globex", "initech", "umbrella", "hooli"} {
		require.Eventually(t, func() bool {
			listed, err := sh("hiregate export list --tenant " + client)
			return err == nil && strings.Contains(listed, "hris delivered")
		}, patience, 200*time.Millisecond, client)
	}
	listed, err := sh("hiregate integration list")
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(listed, " configured "), listed)
	secrets, err := filepath.Glob(filepath.Join(folder, "secrets", "*"))
	require.NoError(t, err)
	for _, secret := range secrets {
		info, err := os.Stat(secret)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), secret)
	}
}
