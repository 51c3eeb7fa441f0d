package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

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
