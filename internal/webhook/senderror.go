package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// The kinds of SendError.
const (
	KindRefused  = "refused by egress" // the guard lets nothing go to this address
	KindDNS      = "dns"               // the host name has no address
	KindConnect  = "connect"           // no connection, be it refused, unreachable or too slow
	KindTLS      = "tls"               // the handshake failed
	KindTimeout  = "timeout"           // no answer in time
	KindClosed   = "closed"            // the connection ended before an answer
	KindToken    = "token"             // no token came from the token endpoint, which is Host
	KindProtocol = "protocol"          // the answer is not HTTP, or no HTTP request can be made of the delivery
)

// SendError says why an attempt got no answer. Its text is for people and has neither path nor query of the URL, which
// may be credentials, nor anything the receiver wrote.
type SendError struct {
	Kind string
	Host string // host, and port where the URL has one; empty if the URL can't be read
	Err  error  // the cause, without the URL
}

// Cause is the kind in a word for metrics; a connection that was refused is told from one that could not be made.
func (e *SendError) Cause() string {
	switch {
	case e.Kind == KindRefused:
		return "egress"
	case e.Kind == KindConnect && errors.Is(e.Err, syscall.ECONNREFUSED):
		return "connection_refused"
	}
	return e.Kind
}

// Refused is implemented by the error of a guard that does not let a connection be made.
type Refused interface{ RefusedByEgress() bool }

func (e *SendError) Unwrap() error { return e.Err }

func (e *SendError) Error() string {
	switch e.Kind {
	case KindRefused:
		return fmt.Sprintf("nothing was sent to %s: %v", e.Host, e.Err)
	case KindDNS:
		return fmt.Sprintf("the host name of %s could not be resolved (%v): check the spelling in the "+
			"URL and its DNS records", e.Host, e.Err)
	case KindConnect:
		return fmt.Sprintf("no connection to %s could be made (%v): check that it runs and is open to us", e.Host,
			e.Err)
	case KindToken:
		return e.Err.Error()
	case KindTLS:
		if wantsCertificate(e.Err) {
			return fmt.Sprintf("the TLS handshake with %s failed (%v): it does not accept the certificate that it is shown: "+
				"check tls of the integration's authentication", e.Host, e.Err)
		}
		return e.untrusted()
	case KindTimeout:
		return fmt.Sprintf("%s did not answer in time (%v at most): it should acknowledge first and work afterwards",
			e.Host, AttemptTimeout)
	case KindClosed:
		return fmt.Sprintf("%s closed the connection before it answered: look into its log", e.Host)
	default:
		if errors.Is(e.Err, errNoHTTP) {
			return fmt.Sprintf("%s gave an answer that is not HTTP: check that the URL leads to an HTTP server", e.Host)
		}
		return fmt.Sprintf("nothing was sent: %v", e.Err)
	}
}

// untrusted returns the sentence about a handshake that failed on our side.
func (e *SendError) untrusted() string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(e.Err, &authority):
		return fmt.Sprintf("the certificate of %s is of an authority that is not known here: have the certificates in between "+
			"sent along, or give the authority in tls of the integration's authentication", e.Host)
	case errors.As(e.Err, &name) && len(name.Certificate.DNSNames) > 0:
		names := name.Certificate.DNSNames
		return fmt.Sprintf("the certificate of %s is for other names (%s): write the URL with one that it has", e.Host,
			strings.Join(names[:min(len(names), 3)], ", "))
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired && time.Now().After(invalid.Cert.NotAfter):
		return fmt.Sprintf("the certificate of %s ended on %s: have it renewed", e.Host,
			invalid.Cert.NotAfter.UTC().Format(time.DateOnly))
	}
	return fmt.Sprintf("the TLS handshake with %s failed (%v): check its certificate", e.Host, e.Err)
}

// wantsCertificate reports whether a TLS error is the receiver's alert about our certificate, or that there is none.
func wantsCertificate(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && strings.Contains(err.Error(), "certificate")
}

// Causes of KindProtocol; but for errNoHTTP nothing was sent.
var (
	errNoHTTP   = errors.New("malformed HTTP answer")
	errURL      = errors.New("the URL is not a valid https or http URL: correct it")
	errUserInfo = errors.New("the URL has a user name or password in it: remove them")
	errHeader   = errors.New("a header of the delivery has a character that HTTP does not allow")
	errTooSlow  = errors.New("it took too long")
)

// explain turns an error of the transport into a *SendError. ctx is the caller's, without the attempt's own timeout.
func (p *progress) explain(ctx context.Context, host string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("sending to %s: %w", host, context.Cause(ctx))
	}
	if known := new(SendError); errors.As(err, &known) {
		return known
	}
	kind, cause := p.class(err)
	return &SendError{Kind: kind, Host: host, Err: cause}
}

func (p *progress) class(err error) (kind string, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var (
		refused Refused
		dns     *net.DNSError
		op      *net.OpError
		late    net.Error
	)
	switch {
	case errors.As(err, &refused) && refused.RefusedByEgress():
		return KindRefused, refused.(error)
	case errors.As(err, &dns):
		return KindDNS, errors.New(dns.Err) // without the resolver's address
	case errors.As(err, &op) && op.Op == "dial":
		return KindConnect, dialCause(op)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return KindTimeout, err
	case p.tlsFailed, isTLS(err):
		return KindTLS, err
	case isClosed(err):
		return KindClosed, err
	case !p.connected:
		return KindProtocol, errHeader
	case p.answered:
		return KindProtocol, errNoHTTP // the cause quotes the answer
	default:
		return KindClosed, err
	}
}

func dialCause(op *net.OpError) error {
	var errno syscall.Errno
	if errors.As(op, &errno) {
		return errno
	}
	if op.Timeout() {
		return errTooSlow
	}
	return op.Err
}

func isTLS(err error) bool {
	var op *net.OpError
	return errors.As(err, new(tls.RecordHeaderError)) ||
		errors.As(err, &op) && strings.HasSuffix(op.Op, " error") // "remote error" and "local error" are TLS alerts
}

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
