package app

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

const (
	// maxStreams limits the concurrent requests on a connection of HTTP/2; golang.org/x/net allows 250. Further streams
	// are refused before they take memory. A sender that has more to send opens another connection.
	maxStreams = 50

	// idleFrames limits the frames without a request that a connection may send at once, and idleFramesPerSecond those
	// that it may send over time. Each costs us more than its sender; clients send a few at the start, and one now and
	// then.
	idleFrames, idleFramesPerSecond = 1000, 100

	// littleData is the content up to which a DATA frame counts as one that carries nothing, in bytes with its padding. It
	// is less than the head of the frame.
	littleData = 8

	frameHead = 9 // bytes; RFC 9113, section 4.1

	// unencryptedHTTP2 is the key in http.Server.TLSNextProto under which net/http hands over a connection without TLS, once
	// it has read its preface. It is carried by a *tls.Conn whose own connection has a method UnencryptedNetConn.
	unencryptedHTTP2 = "unencrypted_http2"

	prefaceTime = 10 * time.Second // a client sends the preface at once
)

var bounding sync.Mutex

// boundStreams limits the streams and frames of a server's connections. It is called at the first connection: Caddy has
// no option for it, and gives no access to its http.Server earlier.
func boundStreams(ctx context.Context, _ net.Conn) context.Context {
	if server, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok {
		bounding.Lock() // listeners of one server accept side by side
		defer bounding.Unlock()
		if server.HTTP2 == nil {
			server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
			watchFrames(server.TLSNextProto)
		}
	}
	return ctx
}

// watchFrames makes both protocols of HTTP/2, with TLS and without, read from connections that count frames. The one
// that accepts any net.Conn serves both.
func watchFrames(protocols map[string]func(*http.Server, *tls.Conn, http.Handler)) {
	serve := protocols[unencryptedHTTP2]
	if serve == nil {
		return // this server speaks no HTTP/2
	}
	watched := func(server *http.Server, c net.Conn, handler http.Handler) {
		c = &framesConn{Conn: c, left: rate.NewLimiter(idleFramesPerSecond, idleFrames)}
		serve(server, tls.Client(handOver{c, c}, nil), handler)
	}
	protocols[unencryptedHTTP2] = func(server *http.Server, c *tls.Conn, handler http.Handler) {
		if handed, ok := c.NetConn().(interface{ UnencryptedNetConn() net.Conn }); ok {
			watched(server, handed.UnencryptedNetConn(), handler)
			return
		}
		serve(server, c, handler)
	}
	if protocols[http2.NextProtoTLS] == nil {
		return
	}
	protocols[http2.NextProtoTLS] = func(server *http.Server, c *tls.Conn, handler http.Handler) {
		preface := make([]byte, len(http2.ClientPreface))
		_ = c.SetReadDeadline(time.Now().Add(prefaceTime))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			_ = c.Close()
			return
		}
		_ = c.SetReadDeadline(time.Time{})
		watched(server, c, handler)
	}
}

// handOver passes a connection to a protocol in the form that net/http expects.
type handOver struct {
	net.Conn
	conn net.Conn
}

// UnencryptedNetConn returns the connection.
func (h handOver) UnencryptedNetConn() net.Conn { return h.conn }

var errIdleFrames = errors.New("too many HTTP/2 frames that carry no request")

// framesConn is a connection of HTTP/2 after its preface. It ends when it sends too many frames that carry no request.
// Only one goroutine reads.
type framesConn struct {
	net.Conn
	left *rate.Limiter
	head [frameHead]byte
	have int // bytes of the head
	skip int // bytes of the content that follow
}

func (c *framesConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		skipped := min(c.skip, len(rest))
		c.skip, rest = c.skip-skipped, rest[skipped:]
		copied := copy(c.head[c.have:], rest)
		c.have, rest = c.have+copied, rest[copied:]
		if c.have < frameHead {
			break
		}
		length := int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
		kind := http2.FrameType(c.head[3])
		if kind == http2.FrameHeaders {
			// The requests that this connection began are served first, and other connections have their turn. Otherwise the
			// requests of all connections would be begun before one is refused, and wait together for the processor.
			runtime.Gosched()
		}
		if carriesNothing(kind, http2.Flags(c.head[4]), length) && !c.left.Allow() {
			_ = c.Close()
			return 0, errIdleFrames
		}
		c.have, c.skip = 0, length
	}
	return n, err
}

// carriesNothing reports whether a frame advances neither a request nor its body.
func carriesNothing(kind http2.FrameType, flags http2.Flags, length int) bool {
	switch kind {
	case http2.FrameHeaders, http2.FrameContinuation, http2.FrameWindowUpdate, http2.FrameRSTStream:
		return false
	case http2.FrameData:
		return length <= littleData && !flags.Has(http2.FlagDataEndStream)
	}
	return true
}
