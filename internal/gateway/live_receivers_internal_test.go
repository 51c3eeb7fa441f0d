package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
)

// clientCertificate is one that lives that long from now on.
func clientCertificate(t *testing.T, lives time.Duration) model.ClientTLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(lives)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return model.ClientTLS{Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))}
}

func TestExaminedClientCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	guard := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(guard.Close)
	for want, lives := range map[Verdict]time.Duration{OK: 15 * 24 * time.Hour, Warning: 13 * 24 * time.Hour, Bad: -time.Hour} {
		own := clientCertificate(t, lives)
		own.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		found := examineReceiver(t.Context(), guard, receiver{server.URL, &own}, []string{"acme/hris"})
		require.Equal(t, OK, found[0].Verdict, found)
		last := found[len(found)-1]
		require.Equal(t, want, last.Verdict, last)
		if want != OK {
			require.Contains(t, last.Found, "its client certificate end")
			require.Contains(t, last.Found, ": renew it in tls of the integration's authentication")
		}
	}
}
