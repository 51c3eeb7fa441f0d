package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConnect(t *testing.T) {
	t.Parallel()
	encrypted := httptest.NewTLSServer(nil)
	t.Cleanup(encrypted.Close)
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)

	_, err := New(Policy{}).Connect(t.Context(), encrypted.URL, nil)
	requireRefused(t, err, ClassLoopback)
	g := New(allow(t, "127.0.0.0/8"))
	state, err := g.Connect(t.Context(), plain.URL, nil)
	require.NoError(t, err)
	require.Nil(t, state)
	_, err = g.Connect(t.Context(), encrypted.URL, nil)
	require.ErrorContains(t, err, "certificate", "a certificate of nobody was accepted")
	authorities := x509.NewCertPool()
	authorities.AddCert(encrypted.Certificate())
	state, err = g.Connect(t.Context(), encrypted.URL, &tls.Config{RootCAs: authorities})
	require.NoError(t, err)
	require.Equal(t, encrypted.Certificate().NotAfter, state.PeerCertificates[0].NotAfter)
}

// A server that refuses our certificate is told from one that accepts it, or only closes the connection.
func TestConnectWithACertificate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wants         tls.ClientAuthType
		shown, silent bool // silent: it does not close the connection
		want          string
	}{
		"it accepts it":                 {tls.RequireAnyClientCert, true, true, ""},
		"it accepts it, and closes":     {tls.RequireAnyClientCert, true, false, ""},
		"it takes what comes":           {tls.RequestClientCert, false, false, ""},
		"it refuses that of an unknown": {tls.RequireAndVerifyClientCert, true, false, "it refuses the client certificate, or wants one (remote error: tls: "},
		"it wants one":                  {tls.RequireAnyClientCert, false, false, "it refuses the client certificate, or wants one (remote error: tls: "},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+" with "+tls.VersionName(version), func(t *testing.T) {
				t.Parallel()
				known := httptest.NewTLSServer(nil) // for its certificate
				t.Cleanup(known.Close)
				listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: known.TLS.Certificates,
					ClientAuth: c.wants, ClientCAs: x509.NewCertPool(), MaxVersion: version})
				require.NoError(t, err)
				t.Cleanup(func() { listener.Close() })
				g := New(allow(t, "127.0.0.0/8"))
				g.judged = time.Minute
				if c.silent { // nothing ends the wait
					g.judged = time.Millisecond
				}
				ended := make(chan struct{})
				go func() {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					conn.(*tls.Conn).Handshake()
					if c.silent {
						<-ended
					}
				}()
				defer close(ended)
				config := known.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
				if c.shown {
					config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
						return &known.TLS.Certificates[0], nil
					}
				}
				state, err := g.Connect(t.Context(), "https://"+listener.Addr().String(), config)
				if c.want != "" {
					require.ErrorContains(t, err, c.want)
					return
				}
				require.NoError(t, err)
				require.Equal(t, version, state.Version)
			})
		}
	}
}
