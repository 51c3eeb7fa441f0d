package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// loopback is a guard that lets everything through that a test can reach.
func loopback(t *testing.T) *egress.Guard {
	g := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(g.Close)
	return g
}

// verify sends VERIFY to an integration and returns why it is not configured.
func verify(t *testing.T, guard webhook.Guard, i *model.Integration) string {
	t.Helper()
	_, reason, err := names(t).Verify(t.Context(), webhook.ClientFor(guard, i), i)
	require.NoError(t, err)
	return reason
}

func integration(address string, a *model.Authentication) *model.Integration {
	return &model.Integration{Tenant: "acme", Name: "hris", URL: address + "/in/acme", Secret: "s", Authentication: a}
}

func TestCredentialsAreSent(t *testing.T) {
	t.Parallel()
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	guard := loopback(t)
	for want, a := range map[string]*model.Authentication{
		"Basic Z2F0ZTpodW50ZXIy": {Basic: &model.BasicAuth{User: "gate", Password: "hunter2"}},
		"Bearer hunter2":         {Bearer: "hunter2"},
		"Key hunter2":            {Headers: []model.AuthHeader{{Name: "authorization", Value: "Key hunter2"}}},
		"":                       {Headers: []model.AuthHeader{{Name: "X-Api-Key", Value: "hunter2"}, {Name: "x-Tenant", Value: "acme"}}},
	} {
		require.Empty(t, verify(t, guard, integration(server.URL, a)))
		require.Equal(t, want, got.Get("Authorization"))
		require.Equal(t, "VERIFY", got.Get("X-Service-Event"))
		if want == "" {
			require.Equal(t, "hunter2", got.Get("X-Api-Key"))
			require.Equal(t, "acme", got.Get("X-Tenant"))
		}
	}
	require.Empty(t, verify(t, guard, integration(server.URL, nil)))
	require.Empty(t, got.Get("Authorization"), "another integration's are not sent")
}

// A client for once closes the connections that it made with the integration's certificates, and no others.
func TestClientForOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	states := map[http.ConnState]int{}
	receiver := func() *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states[s]++
		}
		return server
	}
	count := func(s http.ConnState) int {
		mu.Lock()
		defer mu.Unlock()
		return states[s]
	}
	guard := loopback(t)
	once := func(i *model.Integration) {
		client := webhook.ClientOnce(guard, i)
		_, reason, err := names(t).Verify(t.Context(), client, i)
		require.NoError(t, err)
		require.Empty(t, reason)
		client.CloseIdleConnections()
	}
	plain := receiver()
	plain.Start()
	once(integration(plain.URL, nil))
	once(integration(plain.URL, &model.Authentication{Bearer: "hunter2"}))
	require.Equal(t, 1, count(http.StateNew), "the shared connection was closed")
	plain.Close()

	encrypted := receiver()
	encrypted.StartTLS()
	defer encrypted.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encrypted.Certificate().Raw}))
	before := count(http.StateClosed)
	once(integration(encrypted.URL, &model.Authentication{TLS: &model.ClientTLS{CA: ca}}))
	require.Eventually(t, func() bool { return count(http.StateClosed) > before }, 25*time.Second, 10*time.Millisecond,
		"it waits for the end of idle connections, half a minute")
}

func TestHeadersOfTheContractCantBeSet(t *testing.T) {
	t.Parallel()
	hire, err := webhook.NamesFor("Hire")
	require.NoError(t, err)
	for _, name := range []string{"X-Hire-Event", "x-hire-signature", "X-Hire-Whatever", "Host"} {
		require.Error(t, hire.ValidateAuthHeader(name), name)
	}
	require.NoError(t, hire.ValidateAuthHeader("X-Service-Event"))
	require.NoError(t, hire.ValidateAuthHeader("X-Hire"))
	require.ErrorContains(t, hire.ValidateAuthentication(&model.Authentication{
		Headers: []model.AuthHeader{{Name: "X-Hire-UUID", Value: "x"}}}), "header X-Hire-UUID: those that begin with X-Hire- ")
}

// issuer is a token endpoint, and the receiver that knows its tokens.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	issued  int
	lives   int    // seconds
	valid   string // the token that the receiver accepts
	answers func(http.ResponseWriter, *http.Request) bool
}

func newIssuer(t *testing.T) *issuer {
	s := &issuer{lives: 3600}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path != "/token" {
			if r.Header.Get("Authorization") != "Bearer "+s.valid {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return
		}
		if s.answers != nil && s.answers(w, r) {
			return
		}
		id, secret, _ := r.BasicAuth()
		if id != "gate" || secret != "hunter2" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" {
			w.WriteHeader(http.StatusUnauthorized)
			json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client"})
			return
		}
		s.issued++
		s.valid = "token-" + rand.Text()
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"access_token": s.valid, "token_type": "Bearer", "expires_in": s.lives})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *issuer) credentials() *model.Authentication {
	return &model.Authentication{OAuth2: &model.OAuth2{TokenURL: s.URL + "/token", ClientID: "gate", ClientSecret: "hunter2",
		Scope: "a b"}}
}

func (s *issuer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func TestTokensAreCachedAndRenewed(t *testing.T) {
	t.Parallel()
	s, guard := newIssuer(t), loopback(t)
	i := integration(s.URL, s.credentials())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { require.Empty(t, verify(t, guard, i)) })
	}
	all.Wait()
	require.Equal(t, 1, s.issued, "attempts share a token")

	s.set(func() { s.valid = "revoked" })
	require.Empty(t, verify(t, guard, i), "one that is refused is renewed within the attempt")
	require.Equal(t, 2, s.issued)

	s.set(func() {
		s.valid = "revoked"
		s.answers = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]any{"access_token": "wrong", "token_type": "Bearer"})
			return true
		}
	})
	require.Contains(t, verify(t, guard, i), "VERIFY was answered 401: it does not accept", "once, not forever")
}

func TestTokensAreRenewedBeforeTheirEnd(t *testing.T) {
	t.Parallel()
	s, guard := newIssuer(t), loopback(t)
	s.lives = 1 // half of which is used
	i := integration(s.URL, s.credentials())
	require.Empty(t, verify(t, guard, i))
	require.Eventually(t, func() bool {
		require.Empty(t, verify(t, guard, i))
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.issued > 1
	}, time.Minute, 20*time.Millisecond)
}

func TestTokenEndpointFails(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	attempt := func(change func(*model.OAuth2)) string {
		a := s.credentials()
		change(a.OAuth2)
		return verify(t, loopback(t), integration(s.URL, a))
	}
	require.Equal(t, "token endpoint answered 401: check client_id and client_secret",
		attempt(func(o *model.OAuth2) { o.ClientSecret = "wrong" }))
	require.Contains(t, attempt(func(o *model.OAuth2) { o.TokenURL = "http://127.0.0.1:1/token" }),
		"token endpoint could not be asked: no connection to 127.0.0.1:1 could be made")
	require.Contains(t, attempt(func(o *model.OAuth2) { o.TokenURL = "https://10.0.0.1/token" }),
		"nothing was sent to 10.0.0.1", "the guard decides")
	for status, want := range map[int]string{503: "token endpoint answered 503: check token_url", 302: "token endpoint answered 302"} {
		s.set(func() {
			s.answers = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Location", "https://example.com/")
				w.WriteHeader(status)
				return true
			}
		})
		require.Contains(t, attempt(func(*model.OAuth2) {}), want)
	}
	s.set(func() {
		s.answers = func(w http.ResponseWriter, r *http.Request) bool { w.Write([]byte("hunter2")); return true }
	})
	require.Equal(t, "token endpoint gave an answer that has no token: check token_url", attempt(func(*model.OAuth2) {}))
}

// A token endpoint sees the credentials in the header first, and in the body only where it may have looked for them there.
func TestTokenEndpointIsShownTheCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header, body string // the errors that it answers to credentials there, with the status; empty: a token
		asked        []string
		want         string
	}{
		"it takes the header":             {"", "400 invalid_client", []string{"header", "header"}, ""},
		"it takes the body alone":         {"401 invalid_client", "", []string{"header", "body", "body"}, ""},
		"it says nothing about it":        {"400 ", "", []string{"header", "body", "body"}, ""},
		"it wants client_id":              {"400 invalid_request", "", []string{"header", "body", "body"}, ""},
		"the scope is wrong":              {"400 invalid_scope", "401 invalid_client", []string{"header"}, "answered 400: check scope"},
		"it is down":                      {"503 ", "401 invalid_client", []string{"header"}, "answered 503: check token_url"},
		"the secret is wrong":             {"401 invalid_client", "400 invalid_request", []string{"header", "body"}, "answered 401: check client_id and client_secret"},
		"it goes down":                    {"401 ", "503 ", []string{"header", "body"}, "answered 401: check client_id and client_secret"},
		"the scope is wrong, in the body": {"401 ", "400 invalid_scope", []string{"header", "body"}, "answered 400: check scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newIssuer(t)
			var asked []string
			s.answers = func(w http.ResponseWriter, r *http.Request) bool {
				where, answer := "header", c.header
				if _, _, ok := r.BasicAuth(); !ok {
					where, answer = "body", c.body
					require.Equal(t, "hunter2", r.FormValue("client_secret"))
				} else {
					require.Empty(t, r.FormValue("client_secret"))
				}
				asked = append(asked, where)
				w.Header().Set("Content-Type", "application/json")
				if answer == "" {
					s.valid = "token-" + rand.Text()
					json.NewEncoder(w).Encode(map[string]any{"access_token": s.valid, "token_type": "Bearer"})
					return true
				}
				status, code, _ := strings.Cut(answer, " ")
				n, _ := strconv.Atoi(status)
				w.WriteHeader(n)
				if code != "" {
					json.NewEncoder(w).Encode(map[string]string{"error": code})
				}
				return true
			}
			guard, i := loopback(t), integration(s.URL, s.credentials())
			require.Contains(t, verify(t, guard, i), c.want)
			if c.want == "" {
				s.set(func() { s.valid = "revoked" })
				require.Empty(t, verify(t, guard, i), "the second token is asked for where the first came from")
			}
			require.Equal(t, c.asked, asked)
		})
	}
}

// certificate issues a certificate of an authority; nil: one that issues itself.
func certificate(t *testing.T, name string, issuer *tls.Certificate) (tls.Certificate, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(30 * 24 * time.Hour), DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: issuer == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	parent, signer := template, any(key)
	if issuer != nil {
		parent, signer = issuer.Leaf, issuer.PrivateKey
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	pair, err := tls.X509KeyPair([]byte(cert), []byte(private))
	require.NoError(t, err)
	return pair, cert, private
}

// certificateRefused matches both reasons of a receiver that refuses a certificate: with TLS 1.3 it does so after the
// handshake, and closes the connection, on which the request may fail before its alert is read.
const certificateRefused = "it does not accept the certificate that it is shown: check tls|closed the connection before it answered"

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	authority, ca, _ := certificate(t, "authority", nil)
	served, _, _ := certificate(t, "receiver", &authority)
	_, cert, key := certificate(t, "gate", &authority)
	other, _, _ := certificate(t, "other", nil)
	_, foreign, foreignKey := certificate(t, "gate", &other)
	roots := x509.NewCertPool()
	roots.AddCert(authority.Leaf)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{served}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	server.StartTLS()
	defer server.Close()
	guard := loopback(t)
	with := func(c model.ClientTLS) *model.Integration {
		i := integration(server.URL, &model.Authentication{TLS: &c})
		require.NoError(t, i.Authentication.Validate())
		return i
	}
	require.Empty(t, verify(t, guard, with(model.ClientTLS{Certificate: cert, Key: key, CA: ca})))
	require.WithinDuration(t, time.Now().Add(30*24*time.Hour),
		with(model.ClientTLS{Certificate: cert, Key: key}).Authentication.CertificateEnd(), time.Hour)
	require.Regexp(t, certificateRefused, verify(t, guard, with(model.ClientTLS{Certificate: foreign, Key: foreignKey, CA: ca})))
	require.Regexp(t, certificateRefused, verify(t, guard, with(model.ClientTLS{CA: ca})))
	require.Contains(t, verify(t, guard, with(model.ClientTLS{Certificate: cert, Key: key})),
		"is of an authority that is not known here", "the system does not know the authority")
}
