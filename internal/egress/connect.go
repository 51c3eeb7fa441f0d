package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// judgedWithin is how long Connect waits for a server that asked for our certificate: with TLS 1.3 it judges that after
// our end of the handshake, and says nothing where it accepts it.
const judgedWithin = 500 * time.Millisecond

// Connect connects to the origin of a URL, such as https://hr.example.com, where the policy lets it, and ends the
// connection again. It returns how it was encrypted, with a configuration that may have GetClientCertificate (nil: the
// default one); nil: not at all. A server that refuses our certificate is an error.
func (g *Guard) Connect(ctx context.Context, origin string, config *tls.Config) (*tls.ConnectionState, error) {
	u, err := url.Parse(origin)
	if err != nil {
		return nil, err
	}
	port, err := portOf(u)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(u.Hostname(), strconv.Itoa(int(port)))
	route := g.routes.secure
	if u.Scheme == "http" {
		route = g.routes.plain
	}
	conn, err := route.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if u.Scheme == "http" {
		return nil, nil
	}
	within, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if config == nil {
		config = new(tls.Config)
	}
	config = config.Clone()
	config.ServerName = u.Hostname()
	own, asked := config.GetClientCertificate, false
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if asked = true; own == nil {
			return new(tls.Certificate), nil
		}
		return own(request)
	}
	encrypted := tls.Client(conn, config)
	err = encrypted.HandshakeContext(within)
	if err == nil && asked {
		if err = encrypted.SetReadDeadline(time.Now().Add(g.judged)); err == nil {
			_, err = encrypted.Read(make([]byte, 1))
		}
		if !isAlert(err) { // as where nothing came, or it closed the connection
			err = nil
		}
	}
	switch {
	case asked && isAlert(err):
		return nil, fmt.Errorf("it refuses the client certificate, or wants one (%w): check tls of the integration's "+
			"authentication", err)
	case err != nil:
		return nil, err
	}
	state := encrypted.ConnectionState()
	return &state, nil
}

// isAlert reports whether an error is an alert of the other side (RFC 8446 section 6).
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}
