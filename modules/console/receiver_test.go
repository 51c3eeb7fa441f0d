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
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
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

// wrongReceivers returns the sentences about wrong receivers that docs/console.md has, by what is wrong. Words in braces
// stand for what varies.
func wrongReceivers(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/console.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n### Wrong receivers\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n### ")
	sentences := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1)[1:] {
		sentences[row[1]] = row[2]
	}
	return sentences
}

// Whoever connects a client sees in a sentence what is wrong with its system, before anything is saved: each way of getting
// VERIFY wrong has one that says what to do, and docs/console.md has it. Tests are at most ten in a minute.
func TestSentencesOfATest(t *testing.T) {
	t.Parallel()
	b, strict := newFixture(t), newFixture(t)
	b.AllowLoopback(t)
	b.initech()
	strict.initech()
	allow := regexp.MustCompile(`<pre>egress allow (127\.0\.0\.1|::1) 443</pre>`)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	at := func(address string) url.Values {
		_, form := receiver(t, address, 0)
		return form
	}
	answers := func(path string, status int, header ...string) url.Values {
		server, form := receiver(t, "", status, header...)
		server.Start()
		form.Set("url", server.URL+path)
		return form
	}
	shows := func(till time.Time, name string, known bool) url.Values {
		server, form := receiver(t, "", http.StatusOK)
		certificate, authority := certified(t, till, name)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.StartTLS()
		form.Set("url", server.URL+"/in")
		if known {
			form.Set("ca", authority)
		}
		return form
	}
	valid, ended := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	sentences := wrongReceivers(t)
	for _, row := range []struct {
		wrong  string
		form   url.Values
		values []string // for words in braces, beside {host}
	}{
		{"unknown authority", shows(valid, "127.0.0.1", false), nil},
		{"certificate for another name", shows(valid, "hr.example", true), []string{"{names}", "hr.example"}},
		{"expired certificate", shows(ended, "127.0.0.1", true), []string{"{date}", ended.UTC().Format(time.DateOnly)}},
		{"authentication scheme", answers("/in", 401, "WWW-Authenticate", `Bearer realm="hr"`),
			[]string{"{status}", "401", "{scheme}", "Bearer"}},
		{"signature or credentials", answers("/in", 403), []string{"{status}", "403"}},
		{"doubled slash", answers("/in//acme", 404), []string{"{status}", "404"}},
		{"redirect to a login page", answers("/in", 302, "Location", "https://login.example/sign-in?to=hr"),
			[]string{"{status}", "302", "{site}", "https://login.example"}},
		{"not exactly 200", answers("/in", 204), []string{"{status}", "204"}},
		{"private address", at("https://10.20.4.7/in"), []string{"{address}", "10.20.4.7", "{port}", "443"}},
		{"host name of a private address", at("https://localhost/in"), []string{"{kind}", "loopback"}},
		{"no connection", at("http://" + gatewaytest.Nowhere + "/in"), []string{"{detail}", "connection refused"}},
		{"no answer in time", at("https://" + silent.Addr().String() + "/in"), nil},
		{"unknown host name", at("https://hr.invalid/in"), nil}, // {detail} is the resolver's
	} {
		sentence := sentences[row.wrong]
		require.NotEmpty(t, sentence, "docs/console.md lacks %q", row.wrong)
		delete(sentences, row.wrong)
		host := mustParse(t, row.form.Get("url")).Host
		sentence = strings.NewReplacer(append(row.values, "{host}", host)...).Replace(sentence)
		asked := b
		if host == "localhost" {
			asked = strict
		}
		b.Clock.Advance(time.Minute)
		shown := asked.send(ops, http.MethodPost, "/connect/initech/2", row.form).Body.String()
		require.Equal(t, asked == strict, allow.MatchString(shown), "the line for the Caddyfile, below the sentence")
		require.Regexp(t, strings.ReplaceAll(regexp.QuoteMeta(sentence), `\{detail\}`, ".+"), html.UnescapeString(shown))
		require.NotContains(t, shown, "<script")
		require.Equal(t, row.form.Get("url"), value(t, shown, "url"), "what was typed is kept")
	}
	require.Empty(t, sentences, "docs/console.md has more than is tested")

	b.Clock.Advance(time.Minute)
	good := answers("/in", http.StatusOK)
	for range 10 {
		require.Contains(t, b.post(ops, "/connect/initech/2", good, http.StatusOK), "VERIFY was answered with exactly 200")
	}
	require.Contains(t, b.send(ops, http.MethodPost, "/connect/initech/2", good).Body.String(), "too many tests in a minute")
	b.see(ops, "/tenants/initech/integrations/hris", http.StatusNotFound)

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
