package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestItIsAServiceOfSystemd runs the lines of deploy/hiregate.service as systemd does, and hears what systemd would:
// that it takes requests, that a reload is through, and that it stops. The reload brings a secret into force that
// changed in its file alone.
func TestItIsAServiceOfSystemd(t *testing.T) {
	t.Parallel()
	dir, ports := t.TempDir(), freePorts(t, 3)
	config, secret := filepath.Join(dir, "Caddyfile"), filepath.Join(dir, "acme")
	require.NoError(t, os.WriteFile(secret, []byte("the former one\n"), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(fmt.Sprintf(`{
	admin 127.0.0.1:%[1]d
	auto_https off
	hiregate {
		dev
		public_url http://127.0.0.1:%[2]d
		database sqlite:%[4]s/hiregate.db
		documents file:%[4]s/documents
		temporal 127.0.0.1:%[3]d
		tenant acme {
			secret {file.%[4]s/acme}
		}
	}
}
http://127.0.0.1:%[2]d {
	export_receiver {
		tenant_from path 1
	}
}
`, ports[0], ports[1], ports[2], dir)), 0o600))
	unit, err := os.ReadFile("../../deploy/hiregate.service")
	require.NoError(t, err)
	line := func(name string) []string {
		found := regexp.MustCompile(`(?m)^` + name + `=(hiregate .*)$`).FindSubmatch(unit)
		require.NotNil(t, found, name)
		return strings.Fields(strings.ReplaceAll(string(found[1]), "/etc/hiregate/Caddyfile", config))[1:]
	}
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	require.NoError(t, err)
	defer systemd.Close()
	told := func(want string) {
		t.Helper()
		require.NoError(t, systemd.SetReadDeadline(time.Now().Add(patience)))
		for message := make([]byte, 1024); ; {
			n, err := systemd.Read(message)
			require.NoError(t, err, "systemd was not told %s", want)
			if strings.Contains(string(message[:n]), want) {
				return
			}
		}
	}
	status := func(secret string) string {
		out, _ := run(t, nil, hiregate(t), "send", fmt.Sprintf("http://127.0.0.1:%d/hooks/acme", ports[1]), "--secret",
			secret)
		return strings.SplitN(out, " ", 2)[0]
	}

	env := []string{"NOTIFY_SOCKET=" + filepath.Join(dir, "notify"), "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	gateway := start(t, env, hiregate(t), line("ExecStart")...)
	told("READY=1")
	require.Equal(t, "202", status("the former one"))

	require.NoError(t, os.WriteFile(secret, []byte("the next one\n"), 0o600))
	out, code := run(t, nil, hiregate(t), line("ExecReload")...)
	require.Zero(t, code, out)
	told("RELOADING=1")
	told("READY=1")
	require.Equal(t, "202", status("the next one"))
	require.Equal(t, "401", status("the former one"))

	gateway.signal(syscall.SIGTERM)
	told("STOPPING=1")
	require.Zero(t, gateway.exitCode())
}
