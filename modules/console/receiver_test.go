package console

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"html"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
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

// receiver is a client's system that answers each request the same, and the form that leads to it.
func receiver(t *testing.T, path string, status int, header ...string) (*httptest.Server, url.Values) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; n < len(header); n += 2 {
			w.Header().Set(header[n], header[n+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, hostile[0])
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	return server, url.Values{"do": {"test"}, "name": {"hris"}, "url": {path}, "secret": {"a secret of the client"}}
}

// Whoever connects a client sees in a sentence what is wrong with its system, before anything is saved: each way of getting
// VERIFY wrong has one that says what to do. Tests are at most ten in a minute.
func TestSentencesOfATest(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.AllowLoopback(t)
	b.initech()
	valid, ended := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	none := time.Time{}
	for _, row := range []struct {
		sentence, path string
		status         int
		header         []string
		till           time.Time // of the server's certificate; zero: it has none
		name           string    // in it
		known          bool      // its authority
	}{
		{"VERIFY was answered 204; it must be exactly 200", "/in", 204, nil, none, "", false},
		{"VERIFY was answered 401: it asks for the authentication scheme Bearer", "/in", 401,
			[]string{"WWW-Authenticate", `Bearer realm="hr"`}, none, "", false},
		{"VERIFY was answered 403: it does not accept the signature or the credentials", "/in", 403, nil, none, "", false},
		{"VERIFY was answered 404, and the URL’s path has a doubled slash: leave one of the two out", "/in//acme", 404, nil, none, "", false},
		{"VERIFY was answered 302, which leads to https://login.example: redirects are not followed; often that is a login page", "/in", 302,
			[]string{"Location", "https://login.example/sign-in?to=client=1"}, none, "", false},
		{"is of an authority that is not known here", "/in", 200, nil, valid, "127.0.0.1", false},
		{"is for other names (hr.example): write the URL with one that it has", "/in", 200, nil, valid, "hr.example", true},
		{"ended on " + ended.UTC().Format(time.DateOnly) + ": have it renewed", "/in", 200, nil, ended, "127.0.0.1", true},
		{"10.20.4.7:443 is not a public but a private address: use a public one, or let the operator write `egress allow 10.20.4.7 443`",
			"https://10.20.4.7/in", 0, nil, none, "", false},
		{"VERIFY was answered with exactly 200", "/in", 200, nil, none, "", false},
	} {
		server, form := receiver(t, row.path, row.status, row.header...)
		switch {
		case row.status == 0: // the address is in the row
		case row.till.IsZero():
			server.Start()
			form.Set("url", server.URL+row.path)
		default:
			certificate, authority := certified(t, row.till, row.name)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.StartTLS()
			form.Set("url", server.URL+row.path)
			if row.known {
				form.Set("ca", authority)
			}
		}
		w := b.send(ops, http.MethodPost, "/connect/initech/2", form)
		text := html.UnescapeString(w.Body.String())
		require.Contains(t, text, strings.ReplaceAll(row.sentence, "’", "'"))
		require.NotContains(t, w.Body.String(), "<script")
		require.Equal(t, form.Get("url"), value(t, w.Body.String(), "url"), "what was typed is kept")
		b.see(ops, "/tenants/initech/integrations/hris", http.StatusNotFound)
	}
	server, form := receiver(t, "", 200)
	server.Start()
	form.Set("url", server.URL+"/in")
	require.Equal(t, http.StatusOK, b.send(ops, http.MethodPost, "/connect/initech/2", form).Code)
	require.Contains(t, b.send(ops, http.MethodPost, "/connect/initech/2", form).Body.String(), "too many tests in a minute")

	theirs := &visitor{Request: httptest.NewRequestWithContext(context.Background(), http.MethodPost, "https://gate.example/", nil),
		console: b.Console, person: model.Person{ID: "console:2", Role: model.Admin, Tenant: "initech"}}
	var test api.ReceiverTest
	bad, form := receiver(t, "", 500)
	bad.Start()
	in, refused := integrationFormOf(url.Values{"name": {"hris"}, "url": {bad.URL + "/in"}, "secret": form["secret"]})
	require.Nil(t, refused)
	require.NoError(t, theirs.post("/v1/tenants/initech/receiver-tests", in, &test))
	require.Equal(t, api.ReceiverTest{Transcript: api.Transcript{Withheld: true, SentAt: test.SentAt, Reason: "what an address answers that is " +
		"not public is shown to administrators of all tenants: ask one of them"}}, test)
}
