package admin

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
)

func TestWrongArgumentsAreSentences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want    string
		command func() *cobra.Command
		args    string
	}{
		{`hiregate export has no command "lst": did you mean list? It has list, search, show, redeliver`, Export, "lst"},
		{"unknown flag: --tenants: did you mean --tenant? `hiregate export list --help` lists the flags", Export,
			"list --tenants acme"},
		{"`hiregate export --help` lists the flags", Export, "--tenants acme"},
		{"export list takes one tenant at most", Export, "list acme globex"},
		{"--all and --limit exclude each other", Export, "list --all --limit 3"},
		{"--limit must be at least 1", Export, "list --limit 0"},
		{"export show takes one export", Export, "show"},
		{"name it as TENANT/UUID, or by at least 8 characters", Export, "show u-1"},
		{`tenant name "ACME"`, Export, "show ACME/u-1"},
		{"the UUID is missing", Export, "show acme/"},
		{"export redeliver takes one export", Export, "redeliver acme/u-1 acme/u-2"},
		{"name it as TENANT/UUID, or by at least 8 characters", Export, "redeliver u-1"},
		{"it has list, show, causes, set, test, retry, disable, enable, remove", Integration, "stop acme/hris"},
		{"integration enable takes one integration", Integration, "enable"},
		{"write it as TENANT/NAME", Integration, "enable hris"},
		{`integration name "HRIS"`, Integration, "enable acme/HRIS"},
		{"integration list takes one tenant at most", Integration, "list acme hris"},
		{"user totp takes one user, such as: hiregate user totp ada@example.com", User, "totp"},
		{"write host:port, such as localhost:2019", Export, "list --admin localhost"},
	} {
		out, hints, err := clitest.Run(t.Context(), test.command(), strings.Fields(test.args)...)
		require.ErrorContains(t, err, test.want, test.args)
		require.NotContains(t, err.Error(), "\n")
		require.Empty(t, out+hints, test.args)
	}
	out, _, err := clitest.Run(t.Context(), Export())
	require.NoError(t, err)
	require.Contains(t, out, "redeliver")
}

func TestWhereNoGatewayAnswers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	for _, address := range []string{closed, "unix/" + filepath.Join(t.TempDir(), "none.sock")} {
		_, _, err = clitest.Run(t.Context(), Export(), "list", "--admin", address)
		require.ErrorContains(t, err, "no gateway runs at "+address+": start it with `hiregate run --config "+
			"Caddyfile`, or `hiregate dev`")
	}

	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	_, _, err = clitest.Run(t.Context(), Export(), "list", "--admin", other.URL)
	require.ErrorContains(t, err, "is not the admin endpoint of a gateway (it answered 404 Not Found)")

	l, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			c.Write([]byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00")) // HTTP/2, as Temporal begins
			c.Close()
		}
	}()
	_, _, err = clitest.Run(t.Context(), Export(), "list", "--admin", l.Addr().String())
	require.EqualError(t, err, "what listens at "+l.Addr().String()+" is not the admin endpoint of a gateway (it "+
		"speaks no HTTP): name that with --admin")

	caddy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		w.Write([]byte(`{"error":"client is not allowed to access from origin '` + r.Header.Get("Origin") + `'"}`))
	}))
	t.Cleanup(caddy.Close)
	_, _, err = clitest.Run(t.Context(), Export(), "list", "--admin", strings.TrimPrefix(caddy.URL, "http://"))
	require.ErrorContains(t, err, "refuses: client is not allowed to access from origin '"+caddy.URL+"'")
}

// Who changes something while another does is told to run the command again, and nothing of headers.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodPut {
			assert.Equal(t, `"1"`, r.Header.Get("If-Match"))
			w.WriteHeader(http.StatusPreconditionFailed)
			w.Write([]byte(`{"detail":"it was changed since you read it: send the ETag of that answer as If-Match"}`))
			return
		}
		w.Write([]byte(`{"items":[]}`))
	}))
	t.Cleanup(gateway.Close)
	for _, test := range []struct {
		command func() *cobra.Command
		args    string
	}{
		{Job, "close acme/NURSE-1"}, {Step, "set acme/hired --name Hired"}, {Tenant, "set acme --name Acme"},
	} {
		args := append(strings.Fields(test.args), "--admin", strings.TrimPrefix(gateway.URL, "http://"))
		_, _, err := clitest.Run(t.Context(), test.command(), args...)
		require.EqualError(t, err, errChanged.Error(), test.args)
	}
}
