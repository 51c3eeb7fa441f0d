package admin

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
)

func TestHealthcheck(t *testing.T) {
	for name, one := range map[string]struct {
		status    int
		body      string
		out, fail string
	}{
		"ok": {200, `{"status":"ok","checks":{"database":{"ok":true},"temporal":{"ok":true}}}`, "The gateway is healthy\n",
			""},
		"degraded": {200, `{"status":"degraded","checks":{"database":{"ok":true},"temporal":{"ok":false,"reason":"Temporal does not answer"}}}`,
			"The gateway accepts exports: Temporal does not answer\n", ""},
		"unavailable": {503, `{"status":"unavailable","checks":{"database":{"ok":false,"reason":"the database\u001b can't be written"},"temporal":{"ok":false,"reason":"Temporal does not answer"}}}`,
			"", `the gateway can't accept exports: Temporal does not answer; the database\x1b can't be written`},
		"another server":    {200, "welcome", "", "is not a gateway's healthz (it answered 200 OK): name that with --url"},
		"another JSON":      {200, `{"status":"UP"}`, "", "is not a gateway's healthz"},
		"an empty answer":   {200, "", "", "is not a gateway's healthz"},
		"a redirect":        {302, "", "", "it answered 302 Found"},
		"healthz not there": {404, "", "", "it answered 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "/healthz", r.URL.Path)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(one.status)
				io.WriteString(w, one.body)
			}))
			defer gateway.Close()
			out, err := healthcheck(t, "--url", gateway.URL+"/healthz")
			require.Equal(t, one.out, out)
			if one.fail == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, one.fail)
			}
			t.Setenv(healthzVariable, gateway.URL+"/healthz")
			again, _ := healthcheck(t)
			require.Equal(t, out, again, "the environment says where")
		})
	}
}

func TestHealthcheckOfNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := "http://" + l.Addr().String() + "/healthz"
	require.NoError(t, l.Close())
	_, err = healthcheck(t, "--url", at)
	require.EqualError(t, err, "nothing listens at "+at+": start the gateway, or name its healthz with --url")
	for _, url := range []string{"localhost", "http://", "%", "localhost:8080/healthz"} {
		_, err = healthcheck(t, "--url", url)
		require.ErrorContains(t, err, "is not an address: write one such as http://localhost:9180/healthz", url)
	}
}

// The address may stand by itself, as for send.
func TestHealthcheckOfAnAddress(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"status":"ok","checks":{"database":{"ok":true}}}`)
	}))
	defer gateway.Close()
	t.Setenv(healthzVariable, "http://nobody.invalid/healthz")
	out, err := healthcheck(t, gateway.URL+"/healthz")
	require.NoError(t, err)
	require.Equal(t, "The gateway is healthy\n", out)
	for _, args := range [][]string{{gateway.URL, gateway.URL}, {gateway.URL, "--url", gateway.URL}} {
		_, err = healthcheck(t, args...)
		require.EqualError(t, err, "healthcheck takes one address, such as: hiregate healthcheck "+
			"http://localhost:9180/healthz")
	}
	_, err = healthcheck(t, "localhost:8080/healthz")
	require.ErrorContains(t, err, "is not an address: write one such as http://localhost:9180/healthz")
	_, err = healthcheck(t, "--uri", gateway.URL)
	require.ErrorContains(t, err, "`hiregate healthcheck --help` lists the flags")
}

// What answers 101 may leave its connection open for ever.
func TestHealthcheckOfWhatSwitchesProtocols(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(2 * healthzPatience))
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}))
	defer other.Close()
	began := time.Now()
	_, err := healthcheck(t, "--url", other.URL+"/healthz")
	require.ErrorContains(t, err, "it answered 101 Switching Protocols")
	require.Less(t, time.Since(began), healthzPatience)
}

// healthcheck runs `hiregate healthcheck` to its end.
func healthcheck(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	out, _, err = clitest.Run(t.Context(), Healthcheck(), args...)
	return out, err
}
