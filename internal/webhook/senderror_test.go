package webhook_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

// requireKind also looks for what must not be in an error that is logged.
func requireKind(t *testing.T, err error, kind string) *webhook.SendError {
	t.Helper()
	var se *webhook.SendError
	require.ErrorAs(t, err, &se)
	require.Equal(t, kind, se.Kind, "%v", se.Err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		require.NotContains(t, e.Error(), "hidden")
	}
	return se
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	const addr = "127.0.0.1:1" // where nobody listens who asked for any free port
	a, err := send(t, "http://"+addr)
	se := requireKind(t, err, webhook.KindConnect)
	require.ErrorIs(t, se, syscall.ECONNREFUSED)
	require.Contains(t, se.Error(), addr)
	require.Contains(t, se.Error(), "connection refused")
	require.Zero(t, a.Status)
	require.False(t, a.Started.IsZero())
	require.Positive(t, a.Duration)
}

func TestConnectTimeoutIsAFailureToConnect(t *testing.T) {
	t.Parallel()
	dialer := net.Dialer{Deadline: time.Now().Add(-time.Second)}
	_, err := sendThrough(t, &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, "127.0.0.1:443")
	}})
	requireKind(t, err, webhook.KindConnect)
	require.ErrorContains(t, err, "it took too long")
}

func TestUnknownHostName(t *testing.T) {
	t.Parallel()
	noServer := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no resolver here")
	}}
	dialer := net.Dialer{Resolver: &noServer}
	_, err := sendThrough(t, &http.Transport{DialContext: dialer.DialContext})
	requireKind(t, err, webhook.KindDNS)
	require.ErrorContains(t, err, "partner.invalid")
}

// refusal stands for any guard's error.
type refusal struct{ refused bool }

func (r refusal) Error() string         { return "127.0.0.1 is a loopback address" }
func (r refusal) RefusedByEgress() bool { return r.refused }

func TestRefusedByEgress(t *testing.T) {
	t.Parallel()
	guard := func(err error) *http.Transport {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}}
	}
	_, err := sendThrough(t, guard(refusal{true}))
	requireKind(t, err, webhook.KindRefused)
	require.ErrorContains(t, err, "nothing was sent to partner.invalid: 127.0.0.1 is a loopback address")
	var refused webhook.Refused
	require.ErrorAs(t, err, &refused)

	_, err = sendThrough(t, guard(refusal{false}))
	requireKind(t, err, webhook.KindConnect)
}

func sendThrough(t *testing.T, tr *http.Transport) (webhook.Answer, error) {
	t.Helper()
	return names(t).Send(t.Context(), &http.Client{Transport: tr}, webhook.Delivery{
		URL: "http://partner.invalid/hidden-path?client=hidden-query", Event: webhook.EventExport, Body: []byte("{}"),
	})
}

func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, err := send(t, srv.URL)
	requireKind(t, err, webhook.KindTLS)
	require.ErrorContains(t, err, "of an authority that is not known here")
}

// TestTLSAlertAfterTheHandshake: with TLS 1.3 the client has finished when the server asks in vain for a certificate.
func TestTLSAlertAfterTheHandshake(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, err := names(t).Send(t.Context(), srv.Client(), webhook.Delivery{URL: srv.URL + "/hidden",
		Event: webhook.EventVerify})
	requireKind(t, err, webhook.KindTLS)
	require.ErrorContains(t, err, "certificate required")
}

func TestPlainServerBehindHTTPS(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\nClient sent hidden things"))
		_, _ = io.Copy(io.Discard, conn) // until the client has seen it
	}()
	_, err = send(t, "https://"+ln.Addr().String())
	requireKind(t, err, webhook.KindTLS)
}

func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-release }))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := names(t).Send(ctx, newClient(t), webhook.Delivery{URL: srv.URL + "/hidden", Event: webhook.EventVerify})
	requireKind(t, err, webhook.KindTimeout)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestCancelledAttemptIsNobodysFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopping := errors.New("the worker stops")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel(stopping)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	_, err := names(t).Send(ctx, newClient(t), webhook.Delivery{URL: srv.URL + "/hidden", Event: webhook.EventVerify})
	require.ErrorIs(t, err, stopping)
	require.False(t, errors.As(err, new(*webhook.SendError)))
	require.NotContains(t, err.Error(), "hidden")
}

func TestClosedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, partial := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"} {
		addr, _ := wire(t, 2, partial)
		_, err := send(t, "http://"+addr)
		requireKind(t, err, webhook.KindClosed)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.(*net.TCPConn).SetLinger(0) // close by RST
		_ = conn.Close()
	}()
	_, err = send(t, "http://"+ln.Addr().String())
	requireKind(t, err, webhook.KindClosed)
}

func TestAnswerThatIsNotHTTP(t *testing.T) {
	t.Parallel()
	addr, _ := wire(t, 2, "SSH-2.0-hidden words of the receiver\r\n")
	_, err := send(t, "http://"+addr)
	requireKind(t, err, webhook.KindProtocol)
	require.ErrorContains(t, err, addr+" gave an answer that is not HTTP")
}

func TestDeliveryThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    webhook.Delivery
		want string
	}{
		{webhook.Delivery{URL: ""}, "not a valid https or http URL"},
		{webhook.Delivery{URL: "http://127.0.0.1:1/hidden%zz"}, "not a valid https or http URL"},
		{webhook.Delivery{URL: "ftp://127.0.0.1:1/hidden"}, "not a valid https or http URL"},
		{webhook.Delivery{URL: "/hidden"}, "not a valid https or http URL"},
		{webhook.Delivery{URL: "http://hidden:hidden@127.0.0.1:1/acme"}, "a user name or password in it: remove them"},
		{webhook.Delivery{URL: "http://127.0.0.1:1/acme", Event: webhook.EventExport, UUID: []byte("hidden\n")},
			"a character that HTTP does not allow"},
	} {
		_, err := names(t).Send(t.Context(), newClient(t), c.d)
		requireKind(t, err, webhook.KindProtocol)
		require.ErrorContains(t, err, "nothing was sent: ")
		require.ErrorContains(t, err, c.want)
	}
}

// The address of our resolver is nobody's business, and a cause of its own in each log line.
func TestResolverIsNotNamed(t *testing.T) {
	t.Parallel()
	_, err := sendThrough(t, &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "hr.example",
			Server: "10.9.8.7:53", IsNotFound: true}}
	}})
	se := requireKind(t, err, webhook.KindDNS)
	require.Contains(t, se.Error(), "no such host")
	require.NotContains(t, se.Error(), "10.9.8.7")
}
