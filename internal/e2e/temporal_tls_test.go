package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority signs certificates of a test.
type authority struct {
	t      *testing.T
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, folder: t.TempDir()}
	a.cert, a.key = a.make(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// make signs what a certificate says, and writes it and its key to NAME.pem and NAME.key.
func (a *authority) make(says *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	says.SerialNumber = big.NewInt(time.Now().UnixNano())
	says.NotBefore, says.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = says, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, says, parent, key.Public(), signer)
	require.NoError(a.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	for extension, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: raw},
		".key": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(a.t, os.WriteFile(a.file(says.Subject.CommonName+extension), pem.EncodeToMemory(block), 0o600))
	}
	made, err := x509.ParseCertificate(raw)
	require.NoError(a.t, err)
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.folder, name) }

// guardedTemporal is a proxy in front of a Temporal server that lets through whom the authority knows and who has the
// key.
type guardedTemporal struct {
	port    atomic.Int64 // of the server
	refused atomic.Int64
	address string
}

func newGuardedTemporal(t *testing.T, a *authority, key string) *guardedTemporal {
	t.Helper()
	g := new(guardedTemporal)
	plain := &http.Transport{Protocols: new(http.Protocols)}
	plain.Protocols.SetUnencryptedHTTP2(true)
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     plain,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: loopback(int(g.port.Load()))})
		},
		// the server is not there yet
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			g.refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	own, ownKey := a.make(&x509.Certificate{Subject: pkix.Name{CommonName: "temporal"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	known := x509.NewCertPool()
	known.AddCert(a.cert)
	s.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: ownKey}},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: known,
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections() // polls of workers wait for a minute
		s.Close()
	})
	g.address = s.Listener.Addr().String()
	return g
}

// The connection to Temporal is encrypted, and shows who the gateway is: by a certificate, and by a key. Who is not
// let in waits, and accepts exports all the same.
func TestProtectedTemporal(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.make(&x509.Certificate{Subject: pkix.Name{CommonName: "gateway"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	g := newGuardedTemporal(t, a, "right key")
	connection := func(key string) string {
		return fmt.Sprintf("%s {\ntls {\nca %s\nclient_auth %s %s\n}\napi_key %q\n}", g.address, a.file("authority.pem"),
			a.file("gateway.pem"), a.file("gateway.key"), key)
	}
	s := newSystemWith(t, setup{connection: connection("another key"), tenant: shortRetries})
	partner := s.startRecorder(ok)
	g.port.Store(int64(s.temporalPort))
	id := s.accepted(minimal("c-1"))
	require.Eventually(t, func() bool { return g.refused.Load() > 0 }, patience, 10*time.Millisecond,
		"nobody came with a key")
	require.NotContains(t, s.gateway.out.String(), "another key")
	require.Empty(t, partner.of("CANDIDATE-EXPORT"))

	s.connection = connection("right key")
	s.configure()
	out, code := run(t, nil, hiregate(t), "reload", "--config", s.caddyfile(), "--adapter", "caddyfile", "--address",
		loopback(s.admin))
	require.Zero(t, code, out)
	s.awaitOutcome(id, "delivered")
	require.Len(t, partner.of("CANDIDATE-EXPORT"), 1)
}
