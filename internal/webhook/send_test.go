package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

func names(t *testing.T) webhook.Names {
	t.Helper()
	n, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	return n
}

// newClient has a transport of its own that asks for no compression, as egress gives it.
func newClient(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// wire accepts one connection, writes the answer once a whole request of that length has come, and returns the request.
func wire(t *testing.T, body int, answer string) (addr string, request <-chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	got := make(chan string, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var raw bytes.Buffer
		in := bufio.NewReader(io.TeeReader(conn, &raw))
		for {
			line, err := in.ReadString('\n')
			if err != nil || line == "\r\n" {
				break
			}
		}
		_, _ = io.CopyN(io.Discard, in, int64(body))
		_, _ = io.WriteString(conn, answer)
		got <- raw.String()
	}()
	return ln.Addr().String(), got
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// lines splits a raw request into its request line, its header lines, and its body.
func lines(t *testing.T, raw string) (first string, header []string, body string) {
	t.Helper()
	head, body, found := strings.Cut(raw, "\r\n\r\n")
	require.True(t, found, "%q", raw)
	all := strings.Split(head, "\r\n")
	return all[0], all[1:], body
}

func TestExportOnTheWire(t *testing.T) {
	t.Parallel()
	body := []byte("{\"candidate\": {\"n\":\"\xc3\xa9\"} }\n")
	addr, request := wire(t, len(body), ok)
	a, err := names(t).Send(t.Context(), newClient(t), webhook.Delivery{
		URL:           "http://" + addr + "/inbound/a%2Fb?client=acme",
		Secret:        "hris-secret",
		Event:         webhook.EventExport,
		Body:          body,
		UUID:          []byte("5b0c/7d2e"),
		Link:          []byte("https://service.example/candidates/\xc3\xa9"),
		ExportContext: []byte("JB-1"),
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.Status)

	first, header, sent := lines(t, <-request)
	require.Equal(t, "POST /inbound/a%2Fb?client=acme HTTP/1.1", first)
	require.ElementsMatch(t, []string{
		"Host: " + addr,
		fmt.Sprintf("Content-Length: %d", len(body)),
		"Content-Type: application/json",
		"User-Agent: Service",
		"Link: https://service.example/candidates/\xc3\xa9",
		"X-Service-Event: CANDIDATE-EXPORT",
		"X-Service-Export-Context: JB-1",
		"X-Service-Signature: " + openssl(t, "hris-secret", body),
		"X-Service-UUID: 5b0c/7d2e",
	}, header)
	require.Equal(t, string(body), sent)
}

func TestAbsentHeadersAreNotInvented(t *testing.T) {
	t.Parallel()
	body := []byte(`{"candidate":{}}`)
	addr, request := wire(t, len(body), ok)
	_, err := names(t).Send(t.Context(), newClient(t), webhook.Delivery{
		URL: "http://" + addr + "/acme", Secret: "s", Event: webhook.EventExport, Body: body, Link: []byte{},
	})
	require.NoError(t, err)
	_, header, _ := lines(t, <-request)
	require.ElementsMatch(t, []string{
		"Host: " + addr, "Content-Length: 16", "Content-Type: application/json", "User-Agent: Service",
		"Link: ", // was there, and empty
		"X-Service-Event: CANDIDATE-EXPORT", "X-Service-Signature: " + openssl(t, "s", body),
	}, header)
}

func TestVerifyOnTheWire(t *testing.T) {
	t.Parallel()
	n := names(t)
	addr, request := wire(t, len(n.VerifyBody()), ok)
	a, err := n.Send(t.Context(), newClient(t), webhook.Delivery{
		URL: "http://" + addr + "/acme", Secret: "s", Event: webhook.EventVerify, Body: n.VerifyBody(),
		UUID: []byte("u"), Link: []byte("l"), ExportContext: []byte("c"),
	})
	require.NoError(t, err)
	require.True(t, a.Verified())
	_, header, body := lines(t, <-request)
	require.ElementsMatch(t, []string{
		"Host: " + addr, "Content-Length: 31", "Content-Type: application/json", "User-Agent: Service",
		"X-Service-Event: VERIFY", "X-Service-Signature: " + openssl(t, "s", n.VerifyBody()),
	}, header)
	require.Equal(t, `{"data":"Service Verify Event"}`, body)
}

func TestTwoAttemptsSendTheSameBytes(t *testing.T) {
	t.Parallel()
	var sent []string
	for range 2 {
		addr, request := wire(t, 2, ok)
		_, err := names(t).Send(t.Context(), newClient(t), webhook.Delivery{
			URL: "http://" + addr + "/acme", Secret: "s", Event: webhook.EventExport, Body: []byte("{}"), UUID: []byte("u"),
		})
		require.NoError(t, err)
		sent = append(sent, strings.ReplaceAll(<-request, addr, "host"))
	}
	require.Equal(t, sent[0], sent[1])
}

func TestAnyStatusIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status                 int
		acknowledged, verified bool
	}{
		{200, true, true}, {201, true, false}, {204, true, false}, {299, true, false},
		{304, false, false}, {400, false, false}, {410, false, false}, {500, false, false}, {599, false, false},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(c.status) }))
		t.Cleanup(srv.Close)
		a, err := send(t, srv.URL)
		require.NoError(t, err)
		require.Equal(t, c.status, a.Status)
		require.Equal(t, c.acknowledged, a.Acknowledged(), c.status)
		require.Equal(t, c.verified, a.Verified(), c.status)
		require.Positive(t, a.Duration)
		require.WithinDuration(t, time.Now(), a.Started, time.Minute)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"/elsewhere", "http://%zz", ""} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					t.Error("the redirect was followed")
				}
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			}))
			t.Cleanup(srv.Close)
			a, err := send(t, srv.URL)
			require.NoError(t, err, "Location: %s", location)
			require.Equal(t, status, a.Status)
			require.False(t, a.Acknowledged())
		}
	}
}

func TestAnswerIsCutAt64KiB(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := bytes.Repeat([]byte("x"), 1<<10)
		for { // without end
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	a, err := send(t, srv.URL)
	require.NoError(t, err)
	require.Len(t, a.Head, 64<<10)
}

func TestStatusCountsThoughTheBodyBreaksOff(t *testing.T) {
	t.Parallel()
	addr, _ := wire(t, 2, "HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nhalf")
	a, err := send(t, "http://"+addr)
	require.NoError(t, err)
	require.True(t, a.Acknowledged())
	require.Equal(t, "half", string(a.Head))
}

// A 101 hands the connection over; the attempt must not wait for what never comes on it.
func TestSwitchingProtocolsIsAnAnswer(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+
			"websocket\r\n\r\nhello")
		_, err = io.Copy(io.Discard, conn)
		ended <- err
	}))
	t.Cleanup(srv.Close)
	a, err := send(t, srv.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, a.Status)
	require.False(t, a.Acknowledged())
	require.False(t, a.Verified())
	require.Empty(t, a.Head)
	require.Less(t, a.Duration, 5*time.Second)
	require.NoError(t, <-ended, "the connection was kept")
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"":                                0,
		"0":                               0,
		"120":                             2 * time.Minute,
		"3600":                            time.Hour,
		"3601":                            time.Hour,
		"99999999999999999999999":         time.Hour,
		"-5":                              0,
		"+5":                              0,
		"1.5":                             0,
		"soon":                            0,
		"Sun, 06 Nov 1994 08:49:37 GMT":   0,
		"Fri, 31 Dec 9999 23:59:59 GMT":   time.Hour,
		"Friday, 31-Dec-49 23:59:59 GMT ": time.Hour, // RFC 850 form
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(srv.Close)
		a, err := send(t, srv.URL)
		require.NoError(t, err)
		require.Equal(t, want, a.RetryAfter, "%q", value)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(srv.Close)
	a, err := send(t, srv.URL)
	require.NoError(t, err)
	require.InDelta(t, 10*time.Minute, a.RetryAfter, float64(30*time.Second))
}

// TestWholeAttemptTakes20Seconds runs on a bubble's clock against a receiver that takes the request and says nothing.
func TestWholeAttemptTakes20Seconds(t *testing.T) {
	t.Parallel()
	n := names(t)
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(io.Discard, far)
		}()
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		started := time.Now()
		a, err := n.Send(t.Context(), &http.Client{Transport: tr}, webhook.Delivery{
			URL: "http://partner.example/acme", Secret: "s", Event: webhook.EventExport, Body: []byte("{}"),
		})
		requireKind(t, err, webhook.KindTimeout)
		require.Equal(t, 20*time.Second, time.Since(started))
		require.Equal(t, 20*time.Second, a.Duration)
		require.Equal(t, started, a.Started)
		<-done
	})
}

// send makes one attempt at a URL, to which it adds a path and query that must not come back in an error.
func send(t *testing.T, url string) (webhook.Answer, error) {
	t.Helper()
	return names(t).Send(t.Context(), newClient(t), webhook.Delivery{
		URL: url + "/hidden-path?client=hidden-query", Secret: "hidden-secret", Event: webhook.EventExport,
		Body: []byte("{}"), UUID: []byte("u"),
	})
}
