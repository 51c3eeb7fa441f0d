package app_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A connection that sends frames which bring no request forward is ended, with TLS and without; one that sends as many
// frames of a body goes on.
func TestFloodsOfFramesEndTheConnection(t *testing.T) {
	s := newSite(t)
	plain := s.with("acme")
	plain.servers = "protocols h1 h2c"
	secure := s.with("acme")
	secure.scheme, secure.servers = "https", "protocols h1 h2"
	certificate, key := s.certificate()
	secure.handlers = fmt.Sprintf("tls %s %s", certificate, key)
	for name, c := range map[string]settings{"plain": plain, "TLS": secure} {
		require.NoError(t, s.tryToLoad(c), name)
		dial := func() *frames { return s.dialFrames(c.scheme == "https") }

		var f *frames
		for _, flood := range []func() error{
			func() error { return f.WriteSettings() },
			func() error { return f.WriteData(1, false, nil) },
			func() error { return f.WriteData(1, false, []byte("x")) },
			func() error { return f.WritePriority(1, http2.PriorityParam{StreamDep: 3}) },
		} {
			f = dial()
			f.begin(1)
			for range 20_000 {
				if flood() != nil {
					break
				}
			}
			_, err := io.Copy(io.Discard, f.conn) // what was sent may still be in buffers
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, name)
		}

		f = dial()
		f.begin(1)
		content := bytes.Repeat([]byte(" "), 64)
		for range 3_000 {
			require.NoError(t, f.WriteData(1, false, content), name)
		}
		require.NoError(t, f.WriteData(1, true, content))
		require.Equal(t, strconv.Itoa(http.StatusUnauthorized), f.status(1), name)
	}
}

// What is begun beyond the bound of an address is refused at once, on new connections as well; other addresses and
// health checks are not concerned.
func TestRequestsInProgressAreBounded(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	c.servers = "protocols h1 h2c\ntimeouts {\nread_body_idle 10m\n}"
	c.handlers = "handle_path /manage/* {\nmanage_api\n}\nhandle /healthz* {\nhealthz\n}"
	s.load(c)
	other := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	elsewhere := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: other.DialContext}}
	get := func(client *http.Client, path string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path), nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer dev-key")
		res, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res
	}
	const clients = "/manage/v1/oauth-clients"

	var begun []*frames
	for range 2048/50 + 1 {
		f := s.dialFrames(false)
		begun = append(begun, f)
		for n := range uint32(50) {
			f.beginAt(clients, 2*n+1, hpack.HeaderField{Name: "authorization", Value: "Bearer dev-key"},
				hpack.HeaderField{Name: "content-type", Value: "application/json"})
		}
		go func() { _, _ = io.Copy(io.Discard, f.conn) }()
	}
	var refused *http.Response
	require.Eventually(t, func() bool {
		refused = get(s.client, clients)
		return refused.StatusCode == http.StatusServiceUnavailable
	}, time.Minute, 10*time.Millisecond)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, get(s.client, "/healthz/live").StatusCode)
	require.Equal(t, http.StatusOK, get(elsewhere, clients).StatusCode)
	for _, f := range begun[:2] { // one of them may hold what was refused
		require.NoError(t, f.conn.Close())
	}
	require.Eventually(t, func() bool { return get(s.client, clients).StatusCode == http.StatusOK }, time.Minute,
		10*time.Millisecond)
}

// frames is a client of HTTP/2 that can send what no client should.
type frames struct {
	*http2.Framer
	t    *testing.T
	conn net.Conn
	host string
}

func (s *site) dialFrames(secure bool) *frames {
	s.t.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	conn, err := net.Dial("tcp", address)
	require.NoError(s.t, err)
	if secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http2.NextProtoTLS}})
	}
	s.t.Cleanup(func() { conn.Close() })
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(s.t, err)
	f := &frames{http2.NewFramer(conn, conn), s.t, conn, address}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(s.t, f.WriteSettings())
	return f
}

// begin begins an export.
func (f *frames) begin(stream uint32) {
	f.t.Helper()
	f.beginAt("/hooks/acme", stream)
}

// beginAt begins a request with a body.
func (f *frames) beginAt(path string, stream uint32, headers ...hpack.HeaderField) {
	f.t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range append([]hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: f.host}, {Name: ":path", Value: path}}, headers...) {
		require.NoError(f.t, encoder.WriteField(field))
	}
	require.NoError(f.t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(),
		EndHeaders: true}))
}

// status reads until the answer of a stream.
func (f *frames) status(stream uint32) string {
	f.t.Helper()
	for {
		frame, err := f.ReadFrame()
		require.NoError(f.t, err)
		if head, ok := frame.(*http2.MetaHeadersFrame); ok && head.StreamID == stream {
			return head.PseudoValue("status")
		}
	}
}
