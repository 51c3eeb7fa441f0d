package egress

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"code.dny.dev/ssrf"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/webhook"
)

type bundle struct {
	*httptest.Server
	requests, opened, closed atomic.Int32
}

// setup starts a server on 127.0.0.1 that counts what reaches it.
func setup(t *testing.T, secure bool, h http.HandlerFunc) *bundle {
	t.Helper()
	b := &bundle{}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.requests.Add(1)
		h(w, r)
	}))
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			b.opened.Add(1)
		case http.StateClosed:
			b.closed.Add(1)
		}
	}
	if secure {
		b.EnableHTTP2 = true
		b.StartTLS()
	} else {
		b.Start()
	}
	t.Cleanup(b.Close)
	return b
}

func guard(t *testing.T, p Policy, trust *bundle) *Guard {
	t.Helper()
	g := New(p)
	t.Cleanup(g.Close)
	if trust != nil {
		g.routes.secure.TLSClientConfig = &tls.Config{
			RootCAs: trust.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	}
	return g
}

func get(t *testing.T, g *Guard, url string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := g.Client().Do(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
	}
	return resp, err
}

func noContent(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func TestLoopbackIsRefusedByDefault(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		srv := setup(t, secure, noContent)
		_, err := get(t, guard(t, Policy{}, nil), srv.URL)
		requireRefused(t, err, ClassLoopback)
		require.Zero(t, srv.opened.Load(), "not even a connection is made")
	}
}

// TestNamesAreResolvedFirst: what a name resolves to counts, at the time of dialling.
func TestNamesAreResolvedFirst(t *testing.T) {
	t.Parallel()
	g := guard(t, Policy{}, nil)
	require.NoError(t, g.ValidateURL("https://localhost/acme"))
	_, err := get(t, g, "https://localhost/acme")
	requireRefused(t, err, ClassLoopback)
}

func TestUnusualSpellingsOfLoopback(t *testing.T) {
	t.Parallel()
	g := guard(t, Policy{}, nil)
	for _, host := range []string{"[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]", "[64:ff9b::7f00:1]"} {
		_, err := get(t, g, "https://"+host+"/acme")
		var refused *RefusedError
		require.ErrorAs(t, err, &refused, host)
	}
}

// The dialer takes it for the IPv4 address, which may be allowed.
func TestMappedAddressIsRefusedWhateverIsAllowed(t *testing.T) {
	t.Parallel()
	srv := setup(t, false, noContent)
	u, err := url.Parse(srv.URL)
	require.NoError(t, err)
	_, err = get(t, guard(t, allow(t, "127.0.0.0/8"), nil), "http://[::ffff:127.0.0.1]:"+u.Port()+"/acme")
	requireRefused(t, err, ClassMapped)
	require.Zero(t, srv.opened.Load())
}

func TestAllowedLoopback(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		srv := setup(t, secure, noContent)
		u, err := url.Parse(srv.URL)
		require.NoError(t, err)
		trust := srv
		if !secure {
			trust = nil
		}
		for _, p := range []Policy{allow(t, "127.0.0.0/8"), allow(t, "127.0.0.1", u.Port())} {
			resp, err := get(t, guard(t, p, trust), srv.URL)
			require.NoError(t, err)
			require.Equal(t, http.StatusNoContent, resp.StatusCode)
		}
		_, err = get(t, guard(t, allow(t, "127.0.0.1", "1"), trust), srv.URL)
		requireRefused(t, err, ClassLoopback)
	}
}

// TestPlainHTTPHasItsOwnConnections takes loopback for public, so that https may go where plain http may not.
func TestPlainHTTPHasItsOwnConnections(t *testing.T) {
	t.Parallel()
	srv := setup(t, true, noContent)
	g := guard(t, Policy{}, srv)
	g.public = ssrf.New(ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")), ssrf.WithAnyPort())
	_, err := get(t, g, srv.URL)
	require.NoError(t, err)
	_, err = get(t, g, "http://"+srv.Listener.Addr().String())
	requireRefused(t, err, ClassPlain)
	require.EqualValues(t, 1, srv.opened.Load())
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	srv := setup(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/elsewhere" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
	})
	resp, err := get(t, guard(t, allow(t, "127.0.0.1"), nil), srv.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, resp.StatusCode)
	require.EqualValues(t, 1, srv.requests.Load())
}

// TestProxyFromTheEnvironmentIsIgnored asks for an address other than loopback, which net/http would never send to a
// proxy.
func TestProxyFromTheEnvironmentIsIgnored(t *testing.T) {
	proxy := setup(t, false, noContent)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	g := guard(t, allow(t, "127.0.0.1"), nil)
	for _, scheme := range []string{"http", "https"} {
		_, err := get(t, g, scheme+"://192.0.2.1/acme")
		requireRefused(t, err, ClassReserved)
	}
	require.Zero(t, proxy.opened.Load())
}

func TestNothingIsAddedToARequest(t *testing.T) {
	t.Parallel()
	var header http.Header
	srv := setup(t, false, func(w http.ResponseWriter, r *http.Request) { header = r.Header })
	_, err := get(t, guard(t, allow(t, "127.0.0.1"), nil), srv.URL)
	require.NoError(t, err)
	require.Len(t, header, 1, "no Accept-Encoding, no Connection")
	require.Contains(t, header, "User-Agent")
}

func TestConnectionsAreKeptUntilClose(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		srv := setup(t, secure, noContent)
		trust := srv
		if !secure {
			trust = nil
		}
		g := guard(t, allow(t, "127.0.0.1"), trust)
		for range 3 {
			resp, err := get(t, g, srv.URL)
			require.NoError(t, err)
			if secure {
				require.Equal(t, 2, resp.ProtoMajor)
			}
		}
		require.EqualValues(t, 1, srv.opened.Load())
		g.Close()
		require.Eventually(t, func() bool { return srv.closed.Load() == 1 }, 5*time.Second, 5*time.Millisecond)
	}
}

func TestUnknownScheme(t *testing.T) {
	t.Parallel()
	_, err := get(t, guard(t, allow(t, "0.0.0.0/0"), nil), "file:///etc/hostname")
	require.ErrorContains(t, err, "unsupported protocol scheme")
}

// TestWebhookKnowsARefusal: the sender tells the guard's error from others without importing this package.
func TestWebhookKnowsARefusal(t *testing.T) {
	t.Parallel()
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	_, err = names.Send(t.Context(), guard(t, Policy{}, nil).Client(), webhook.Delivery{
		URL: "https://127.0.0.1/acme", Secret: "s", Event: webhook.EventVerify, Body: names.VerifyBody(),
	})
	var failed *webhook.SendError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, webhook.KindRefused, failed.Kind)
	require.ErrorContains(t, err, "nothing was sent to 127.0.0.1: the address is not a public but a loopback address")
}

// Which address a host name has here is in the operator's log, and not in what tenants read. A flood of refusals does not
// flood the log.
func TestRefusalsTellTenantsNoAddress(t *testing.T) {
	t.Parallel()
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	core, logged := observer.New(zapcore.WarnLevel)
	g := guard(t, Policy{Log: zap.New(core)}, nil)
	for range 30 {
		_, err = names.Send(t.Context(), g.Client(), webhook.Delivery{URL: "https://localhost/acme", Secret: "s",
			Event: webhook.EventVerify, Body: names.VerifyBody()})
		require.ErrorContains(t, err, "nothing was sent to localhost: the address is not a public but a loopback address")
		require.NotContains(t, err.Error(), "127.0.0.1")
		require.NotContains(t, err.Error(), "::1")
	}
	require.NotZero(t, logged.Len())
	require.LessOrEqual(t, logged.Len(), 20)
	require.Regexp(t, `(127\.0\.0\.1|::1)`, logged.All()[0].Message)
	require.Equal(t, "localhost:443", logged.All()[0].ContextMap()["host"])
}

// What answers with headers without end would fill the memory.
func TestHeadersOfAnAnswerAreBounded(t *testing.T) {
	t.Parallel()
	for size, fits := range map[int]bool{60 << 10: true, 70 << 10: false} {
		b := setup(t, false,
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", size)) })
		_, err := get(t, guard(t, Policy{Allow: []Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}}, nil), b.URL)
		if fits {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "server response headers exceeded")
		}
	}
}
