package webhook

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// progress is how far an attempt got, and how long that took. It tells errors apart that have no type. The transport may
// report late, from a goroutine of its own.
type progress struct {
	mu                             sync.Mutex
	connected, tlsFailed, answered bool
	address                        string
	phases                         model.Phases

	resolving, connecting, shaking, sent time.Time // when they began, or it was
}

// note changes the progress.
func (p *progress) note(change func(now time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(time.Now())
}

func (p *progress) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { p.note(func(now time.Time) { p.resolving = now }) },
		DNSDone:  func(httptrace.DNSDoneInfo) { p.note(func(now time.Time) { p.phases.DNS = now.Sub(p.resolving) }) },
		ConnectStart: func(_, address string) {
			p.note(func(now time.Time) {
				if p.address = address; p.connecting.IsZero() { // several addresses may be tried
					p.connecting = now
				}
			})
		},
		ConnectDone: func(string, string, error) {
			p.note(func(now time.Time) { p.phases.Connect = now.Sub(p.connecting) })
		},
		TLSHandshakeStart: func() { p.note(func(now time.Time) { p.shaking = now }) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			p.note(func(now time.Time) { p.phases.TLS, p.tlsFailed = now.Sub(p.shaking), err != nil })
		},
		GotConn: func(got httptrace.GotConnInfo) {
			p.note(func(time.Time) { p.connected, p.address = true, got.Conn.RemoteAddr().String() })
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { p.note(func(now time.Time) { p.sent = now }) },
		GotFirstResponseByte: func() {
			p.note(func(now time.Time) {
				if p.answered = true; !p.sent.IsZero() { // it may answer before it has read all
					p.phases.FirstByte = now.Sub(p.sent)
				}
			})
		},
	})
}

// measured returns where the attempt went, and its phases.
func (p *progress) measured() (address string, phases model.Phases) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address, p.phases
}

// hasAnswer reports whether the first byte of an answer came.
func (p *progress) hasAnswer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}
