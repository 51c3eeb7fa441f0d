package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// signinKey is what dev.Caddyfile asks for; hiregate dev makes it.
const signinKey = "HIREGATE_SIGNIN_KEY=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// TestItIsACaddy runs the commands that every Caddy has.
func TestItIsACaddy(t *testing.T) {
	t.Parallel()
	config, err := filepath.Abs("../../caddyfile/dev.Caddyfile")
	require.NoError(t, err)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, `^hiregate \S+ .*v2\.\d+\.\d+`},
		{[]string{"list-modules"}, `(?s)\nhiregate\n.*\nhttp\.handlers\.export_receiver\n`},
		{[]string{"validate", "--config", config, "--adapter", "caddyfile"}, `(?m)^Valid configuration$`},
		{[]string{"adapt", "--config", config, "--adapter", "caddyfile"}, `"handler":"export_receiver"`},
		{[]string{"fmt", config}, `export_receiver`},
	} {
		env := []string{signinKey, "HIREGATE_DIR=" + t.TempDir(), "XDG_DATA_HOME=" + t.TempDir(),
			"XDG_CONFIG_HOME=" + t.TempDir()}
		out, code := run(t, env, hiregate(t), test.args...)
		require.Zero(t, code, "%s: %s", test.args, out)
		require.Regexp(t, test.want, out)
	}
}

func TestCommandsSayOnceWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"send"}, {"send", "--nope"}, {"send", "localhost/hooks", "--secret", "s"}, {"listen", "here"},
		{"listen", "--secret", "s", "--addr", "x"},
		{"dev", "--http", "0"}, {"dev", "now"}, {"nonsense"},
	} {
		env := []string{"TEMPORAL_DEV_BIN=" + temporalDev(t)}
		if args[0] == "dev" {
			args = append(args, "--dir", t.TempDir())
		}
		out, code := run(t, env, hiregate(t), args...)
		require.Equal(t, 2, code, "%s: %s", args, out)
		require.Regexp(t, `^Error: [^\n]+\n(Run 'hiregate --help' for usage\.\n)?$`, out)
		require.Len(t, regexp.MustCompile(`(?i)error:`).FindAllString(out, -1), 1, out)
	}
	for _, name := range []string{"send", "listen", "dev"} {
		out, code := run(t, nil, hiregate(t), name, "--help")
		require.Zero(t, code)
		require.Contains(t, out, "Usage:\n  hiregate "+name+" ")
		require.Contains(t, out, "Examples:\n")
		require.NotContains(t, out, "caddyserver.com", "where nothing of ours is documented")
	}
}

func TestRunReloadStop(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dir := t.TempDir()
	env := []string{
		signinKey, "HIREGATE_DIR=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		fmt.Sprint("HIREGATE_HTTP_PORT=", ports.http), fmt.Sprint("HIREGATE_ADMIN_PORT=", ports.admin),
		fmt.Sprint("HIREGATE_TEMPORAL_PORT=", ports.temporal), fmt.Sprint("HIREGATE_PARTNER_PORT=", ports.partner),
	}
	config, err := os.ReadFile("../../caddyfile/dev.Caddyfile")
	require.NoError(t, err)
	path := filepath.Join(dir, "dev.Caddyfile")
	require.NoError(t, os.WriteFile(path, config, 0o600))
	gateway := start(t, env, hiregate(t), "run", "--config", path, "--adapter", "caddyfile")
	gateway.line("serving initial configuration")

	changed := append(config, []byte(fmt.Sprintf("\nhttp://localhost:%d {\n\trespond reloaded\n}\n", ports.ui))...)
	require.NoError(t, os.WriteFile(path, changed, 0o600))
	out, code := run(t, env, hiregate(t), "reload", "--config", path, "--adapter", "caddyfile")
	require.Zero(t, code, out)
	require.Equal(t, "reloaded", body(t, fmt.Sprintf("http://localhost:%d/", ports.ui)))

	require.NoError(t, os.WriteFile(path, []byte("{\n\tnonsense\n}\n"), 0o600))
	out, code = run(t, env, hiregate(t), "reload", "--config", path, "--adapter", "caddyfile")
	require.NotZero(t, code, out)
	require.Equal(t, "reloaded", body(t, fmt.Sprintf("http://localhost:%d/", ports.ui)), "the old configuration stays")

	out, code = run(t, env, hiregate(t), "stop", "--address", loopback(ports.admin))
	require.Zero(t, code, out)
	require.Zero(t, gateway.exitCode())
	require.NoFileExists(t, filepath.Join(dir, "caddy", "autosave.json"), "it would show the secrets")
}
