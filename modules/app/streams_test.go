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

// begin begins a request with a body.
func (f *frames) begin(stream uint32) {
	f.t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: f.host}, {Name: ":path", Value: "/hooks/acme"}} {
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
