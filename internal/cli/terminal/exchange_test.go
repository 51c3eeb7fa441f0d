package terminal_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/apply"
)

// Whatever listens where a gateway is looked for, and however it ends, what is said of it is a sentence.
func TestSomethingElseListens(t *testing.T) {
	t.Setenv("HIREGATE_PASSWORD", "correct horse")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, one := range []struct{ answer, admin, healthz, apply string }{
		{"", "closed the connection before it had answered: look at its log", "before it had answered: look at its log",
			"closed the connection before it had answered"},
		{"hello\r\n\r\n", "is not the admin endpoint of a gateway (it speaks no HTTP): name that with --admin",
			"speaks no HTTP: name the gateway's healthz", "is not an Apply API: name its address with --url"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
			"is not the admin endpoint of a gateway (it answered nothing that a gateway of this version says)",
			"is not a gateway's healthz", "is not an Apply API"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\"text\"", "is not the admin endpoint of a gateway",
			"is not a gateway's healthz", "is not an Apply API"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"items\":[", "closed the connection before it had answered",
			"is not a gateway's healthz", "closed the connection before it had answered"},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answered 404 Not Found", "it answered 404 Not Found",
			"is not an Apply API"},
	} {
		at := thatAnswers(t, one.answer)
		asked := func(want string, command func() *cobra.Command, args ...string) {
			t.Helper()
			cmd := command()
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			cmd.SetArgs(args)
			err := cmd.ExecuteContext(t.Context())
			require.ErrorContains(t, err, want, "%q", one.answer)
			require.Nil(t, errors.Unwrap(err), "it shows what Go says: %v", err)
		}
		asked(one.admin, admin.Export, "show", "acme/u-1", "--admin", at)
		asked(one.healthz, admin.Healthcheck, "http://"+at+"/healthz")
		asked(one.apply, apply.Command, "--url", "http://"+at+"/apply", "--job", "NURSE-1", "--user", "partner@example.com",
			"--questions")
	}
}

// thatAnswers listens at a free port, reads a request, answers it with a text, and closes.
func thatAnswers(t *testing.T, answer string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(c, answer)
			c.Close()
		}
	}()
	return l.Addr().String()
}
