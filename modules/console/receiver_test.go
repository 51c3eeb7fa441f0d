package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// certified returns a server's certificate that signs itself.
func certified(t *testing.T, till time.Time, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: till.Add(-48 * time.Hour),
		NotAfter: till, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// Each way in which a receiver gets VERIFY wrong has a sentence that says what to do, and a code for other languages.
func TestSentencesAboutVerify(t *testing.T) {
	t.Parallel()
	guard := loopback(t)
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for n := 0; n < len(header); n += 2 {
				w.Header().Set(header[n], header[n+1])
			}
			w.WriteHeader(status)
		}
	}
	valid, ended := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for _, row := range []struct {
		code, sentence, path string
		answer               http.HandlerFunc
		till                 time.Time // of the server's certificate; zero: it has none
		name                 string    // in it
		known                bool      // its authority
	}{
		{"", "", "/in", answer(200), time.Time{}, "", false},
		{"verify_answered", "VERIFY was answered 204; it must be exactly 200", "/in", answer(204), time.Time{}, "", false},
		{"verify_wants_scheme", "it asks for the authentication scheme Bearer", "/in",
			answer(401, "WWW-Authenticate", `Bearer realm="hr"`), time.Time{}, "", false},
		{"verify_credentials", "it does not accept the signature or the credentials", "/in", answer(403), time.Time{}, "", false},
		{"verify_path_doubled", "VERIFY was answered 404, and the URL's path has a doubled slash", "/in//acme", answer(404),
			time.Time{}, "", false},
		{"verify_path_doubled", "VERIFY was answered 301, and the URL's path has a doubled slash", "/in//acme",
			answer(301, "Location", "/in/acme"), time.Time{}, "", false},
		{"verify_redirected", "VERIFY was answered 302, which leads to https://login.example: redirects are not followed", "/in",
			answer(302, "Location", "https://login.example/sign-in?to=hidden"), time.Time{}, "", false},
		{"tls_authority", "is of an authority that is not known here", "/in", answer(200), valid, "127.0.0.1", false},
		{"tls_name", "is for other names (hr.example)", "/in", answer(200), valid, "hr.example", true},
		{"tls_expired", "ended on " + ended.UTC().Format(time.DateOnly), "/in", answer(200), ended, "127.0.0.1", true},
	} {
		server := httptest.NewUnstartedServer(row.answer)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		var authentication *model.Authentication
		if row.till.IsZero() {
			server.Start()
		} else {
			certificate, authority := certified(t, row.till, row.name)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.StartTLS()
			if row.known {
				authentication = &model.Authentication{TLS: &model.ClientTLS{CA: authority}}
			}
		}
		i := integration(server.URL, authentication)
		i.URL = server.URL + row.path
		said := verify(t, guard, i)
		server.Close()
		require.Contains(t, said, row.sentence)
		require.NotContains(t, said, "hidden")
		if row.code == "" {
			require.Empty(t, said)
			continue
		}
		why := model.ParseReason(said)
		require.NotNil(t, why, said)
		require.Equal(t, row.code, why.Code, said)
	}
}
