package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/lifeline"
)

// Caddy listens so that two processes can have one address: a command would then reach one gateway or the other. The
// second one does not start, however the address is written.
func TestSecondGatewayAtOneAdminAddressDoesNotStart(t *testing.T) {
	t.Parallel()
	s := newSystem(t, "")
	for _, written := range []string{"127.0.0.1", "localhost"} {
		ports := freePorts(t, 2) // nobody is at the second: a gateway at the first one's Temporal is refused for its namespace
		other := &system{t: t, dir: t.TempDir(), http: ports[0], admin: s.admin, temporalPort: ports[1], own: s.own}
		other.adminHost = written
		other.configure()
		second := other.runGateway()
		require.Equal(t, 1, second.exitCode())
		require.Contains(t, second.out.String(), "another gateway has the admin endpoint at 127.0.0.1:")
	}
	s.accepted(minimal("c-1")) // the first one is as it was

	// A reload keeps the address, and whoever comes after the process has it.
	out, code := run(t, nil, hiregate(t), "reload", "--config", s.caddyfile(), "--adapter", "caddyfile", "--address",
		loopback(s.admin))
	require.Zero(t, code, out)
	s.gateway.interrupt()
	require.Zero(t, s.gateway.exitCode())
	s.startGateway()
}

// A command tells the person at the terminal which gateway it talks to, and nothing to a program.
func TestCommandNamesItsGateway(t *testing.T) {
	t.Parallel()
	s := newSystem(t, "")
	list := fmt.Sprintf("%s tenant list --admin %s", hiregate(t), loopback(s.admin))
	out, code := run(t, nil, "script", "-qec", list, "/dev/null")
	require.Zero(t, code, out)
	require.Contains(t, out, fmt.Sprintf("The gateway at %s: %s, process %d", loopback(s.admin), s.url(""),
		s.gateway.cmd.Process.Pid))
	out, code = run(t, nil, "bash", "-c", list)
	require.Zero(t, code, out)
	require.NotContains(t, out, "The gateway at")
	resp, err := http.Get(s.url("/healthz"))
	require.NoError(t, err)
	resp.Body.Close()
	require.NotContains(t, resp.Header.Get("Server"), "process", "strangers learn of the process")
}

// What can't be undone is asked at the terminal, after the gateway was named; a script is asked nothing.
func TestCommandAsksBeforeItRemoves(t *testing.T) {
	t.Parallel()
	s := newSystem(t, "")
	at := " --admin " + loopback(s.admin)
	put := func() {
		out, code := run(t, nil, "bash", "-c", hiregate(t)+" tenant set initech --name Initech"+at)
		require.Zero(t, code, out)
	}
	put()
	remove := hiregate(t) + " tenant remove initech" + at
	keyboard := filepath.Join(t.TempDir(), "keyboard")
	require.NoError(t, syscall.Mkfifo(keyboard, 0o600))
	typed := func(answer, command string) (string, int) { // the keyboard stays there until the command has ended
		return run(t, nil, "bash", "-c", fmt.Sprintf("script -qec 'env -u %s %s' /dev/null <%[3]s & exec 3>%[3]s; "+
			"echo %[4]s >&3; wait $!", lifeline.Variable, command, keyboard, answer))
	}
	out, code := typed("n", remove)
	require.Equal(t, 1, code, out)
	require.Regexp(t, `(?s)The gateway at .*: http.*Remove initech\? This can't be undone\. Type y to go on: .*`+
		`nothing was done`, out)
	out, code = typed("y", remove)
	require.Zero(t, code, out)
	require.Contains(t, out, "tenant initech is removed")
	put()
	out, code = typed("", remove+" --yes")
	require.Zero(t, code, out)
	require.NotContains(t, out, "Type y")
	put()
	out, code = run(t, nil, "bash", "-c", remove)
	require.Zero(t, code, out)

	s.accepted(minimal("c-1"))
	erase := hiregate(t) + " export erase --tenant acme --candidate c-2" + at
	out, code = typed("n", erase)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "Erase all exports of tenant acme about candidate c-2?")
	out, code = typed("y", erase)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "nothing was erased: tenant acme has no export about a candidate c-2")
}
