package e2e

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// guarded is a receiver that wants an API key, a bearer token, or one that an authorization server issued, as the path
// says.
type guarded struct {
	issuer *tokenIssuer
	mu     sync.Mutex
	apiKey string
	tokens []string       // that were let in
	events map[string]int // that were let in, by path and event
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	allowed := false
	switch r.URL.Path {
	case "/header":
		allowed = r.Header.Get("X-Api-Key") == g.apiKey
	case "/bearer":
		allowed = r.Header.Get("Authorization") == "Bearer bearer-token"
	case "/oauth":
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if allowed = bearer && g.issuer.knows(token); allowed {
			g.tokens = append(g.tokens, token)
		}
	}
	if !allowed {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	g.events[r.URL.Path+" "+r.Header.Get("X-Service-Event")]++
}

func (g *guarded) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// tokenIssuer is an authorization server on oidc-provider.
type tokenIssuer struct {
	t   *testing.T
	url string
}

func newTokenIssuer(t *testing.T) *tokenIssuer {
	t.Helper()
	port := freePorts(t, 1)[0]
	start(t, []string{"GATE_SECRET=client-secret", "RECEIVER_SECRET=receiver-secret"}, "node", oidcProvider(t, "token-endpoint.mjs"),
		fmt.Sprint(port)).line("listening")
	return &tokenIssuer{t, "http://" + loopback(port)}
}

// oidcProvider returns the path of a script that runs oidc-provider.
func oidcProvider(t *testing.T, script string) string {
	t.Helper()
	dir := filepath.Join("testdata", "oidc-provider")
	require.DirExists(t, filepath.Join(dir, "node_modules"), "oidc-provider is missing: run make deps")
	return filepath.Join(dir, script)
}

// knows reports whether a token is good for exports (RFC 7662).
func (i *tokenIssuer) knows(token string) bool {
	var answer struct {
		Active bool
		Scope  string
	}
	return json.Unmarshal(i.ask("introspection", token), &answer) == nil && answer.Active && answer.Scope == "exports"
}

// revoke has a token refused from now on (RFC 7009).
func (i *tokenIssuer) revoke(token string) { i.ask("revocation", token) }

func (i *tokenIssuer) ask(endpoint, token string) []byte {
	r, err := http.NewRequest(http.MethodPost, i.url+"/token/"+endpoint, strings.NewReader(url.Values{"token": {token}}.Encode()))
	if !assert.NoError(i.t, err) {
		return nil
	}
	r.SetBasicAuth("receiver", "receiver-secret")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(r)
	if !assert.NoError(i.t, err) {
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	assert.NoError(i.t, err)
	assert.Equal(i.t, http.StatusOK, resp.StatusCode, "%s", body)
	return body
}

// guardedCaddy is a Caddy that wants a password at one port and a client certificate at another one.
func guardedCaddy(t *testing.T, a *authority) (basic, mutual string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("basic-password"), bcrypt.MinCost)
	require.NoError(t, err)
	ports, dir := freePorts(t, 2), t.TempDir()
	a.make(&x509.Certificate{Subject: pkix.Name{CommonName: "receiver"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	basic, mutual = loopback(ports[0]), fmt.Sprint("localhost:", ports[1])
	config := filepath.Join(dir, "Caddyfile")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
	admin off
	auto_https off
	persist_config off
}
http://%s {
	basic_auth {
		gate %s
	}
	respond 200
}
https://%s {
	bind 127.0.0.1
	tls %s %s {
		client_auth {
			mode require_and_verify
			trust_pool file %s
		}
	}
	respond 200
}
`, basic, hash, mutual, a.file("receiver.pem"), a.file("receiver.key"), a.file("authority.pem")), 0o600))
	start(t, []string{"XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}, hiregate(t), "run", "--config", config, "--adapter",
		"caddyfile").line("serving initial configuration")
	return basic, mutual
}

// Receivers that want credentials of each kind are sent VERIFY and exports with them. A receiver that refuses them is
// named with its reason, and gets the export once it takes them again; a token that is refused is renewed in the attempt.
func TestReceiversThatWantCredentials(t *testing.T) {
	t.Parallel()
	authorities := newAuthority(t)
	authorities.make(&x509.Certificate{Subject: pkix.Name{CommonName: "gate"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	basic, mutual := guardedCaddy(t, authorities)
	issuer := newTokenIssuer(t)
	g := &guarded{issuer: issuer, apiKey: "api-key", events: map[string]int{}}
	receiver := httptest.NewServer(g)
	t.Cleanup(receiver.Close)
	tenant := ""
	for name, of := range map[string][2]string{
		"header": {receiver.URL + "/header", "header X-Api-Key {env.API_KEY}"},
		"bearer": {receiver.URL + "/bearer", "bearer {env.BEARER}"},
		"oauth":  {receiver.URL + "/oauth", "oauth2 {\ntoken_url " + issuer.url + "/token\nclient_id gate\nclient_secret {env.CLIENT_SECRET}\nscope exports\n}"},
		"denied": {receiver.URL + "/oauth", "oauth2 {\ntoken_url " + issuer.url + "/token\nclient_id gate\nclient_secret {env.WRONG}\nscope exports\n}"},
		"basic":  {"http://" + basic + "/in", "basic gate {env.PASSWORD}"},
		"wrong":  {"http://" + basic + "/in", "basic gate {env.WRONG}"},
		"tls": {"https://" + mutual + "/in", fmt.Sprintf("tls {\ncert %s\nkey %s\nca %s\n}", authorities.file("gate.pem"),
			authorities.file("gate.key"), authorities.file("authority.pem"))},
	} {
		tenant += fmt.Sprintf("integration %s {\nurl %s?client=acme\nsecret %s\nretry 1s\n%s\n}\n", name, of[0], outboundSecret, of[1])
	}
	s := newSystemWith(t, setup{tenant: tenant, env: []string{"API_KEY=api-key", "BEARER=bearer-token", "CLIENT_SECRET=client-secret",
		"PASSWORD=basic-password", "WRONG=another-password"}})

	s.awaitOutcomes(s.accepted(minimal("c-1")), map[string]string{"header": "delivered", "bearer": "delivered", "oauth": "delivered",
		"basic": "delivered", "tls": "delivered", "wrong": "held", "denied": "held"})
	require.Contains(t, s.cli("integration", "show", "acme/wrong"), "it asks for the authentication scheme Basic")
	require.Contains(t, s.cli("integration", "show", "acme/denied"), "check client_id and client_secret")
	g.set(func() {
		require.Len(t, g.tokens, 2)
		require.Equal(t, g.tokens[0], g.tokens[1], "the token was not used again")
		for _, path := range []string{"/header", "/bearer", "/oauth"} {
			require.Equal(t, 1, g.events[path+" VERIFY"], path)
			require.Equal(t, 1, g.events[path+" CANDIDATE-EXPORT"], path)
		}
		issuer.revoke(g.tokens[0])
		g.apiKey = "another key"
	})

	second := s.accepted(minimal("c-2"))
	s.awaitOutcomes(second, map[string]string{"oauth": "delivered", "header": "retrying"})
	g.set(func() {
		require.Len(t, g.tokens, 3)
		require.NotEqual(t, g.tokens[0], g.tokens[2], "the token was not renewed")
		g.apiKey = "api-key"
	})
	out := s.cli("export", "show", "acme/"+second)
	require.Contains(t, out, "credentials")
	for _, secret := range []string{"api-key", "bearer-token", "client-secret", "basic-password"} {
		require.NotContains(t, out, secret)
		require.NotContains(t, s.gateway.out.String(), secret)
	}
	s.awaitOutcomes(second, map[string]string{"header": "delivered"})
}

// awaitOutcomes waits until the deliveries of an export to integrations have these outcomes.
func (s *system) awaitOutcomes(id string, want map[string]string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		e, ok := s.show(id)
		reached := 0
		for _, d := range e.Deliveries {
			if want[d.Integration] == d.Outcome {
				reached++
			}
		}
		return ok && reached == len(want)
	}, patience, 100*time.Millisecond, "export %s does not come to be %v", id, want)
}

// The command line gives an integration credentials, and others in their place; what it does not name stays.
func TestCredentialsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var wanted atomic.Value
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != wanted.Load() {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(receiver.Close)
	file := func(name, content string) string {
		at := filepath.Join(s.dir, name)
		require.NoError(t, os.WriteFile(at, []byte(content), 0o600))
		return at
	}
	bearer := func(token string) string { return file("credentials.json", `{"bearer":"`+token+`"}`) }
	wanted.Store("Bearer first")
	s.cli("integration", "set", "initech/hris", "--url", receiver.URL+"/in?client=1", "--secret-file", file("secret", outboundSecret),
		"--authentication-file", bearer("first"))
	s.cli("integration", "set", "initech/hris", "--in-flight", "3")
	s.cli("integration", "enable", "initech/hris")
	require.Regexp(t, `state +(configured|unproven)`, s.cli("integration", "show", "initech/hris"))
	wanted.Store("Bearer second")
	out, err := s.run("integration", "set", "initech/hris", "--authentication-file", bearer("third"))
	require.Error(t, err)
	require.Contains(t, out, "401")
	s.cli("integration", "set", "initech/hris", "--authentication-file", bearer("second"))
	require.Regexp(t, `authentication +bearer`, s.cli("integration", "show", "initech/hris"))
	wanted.Store("")
	s.cli("integration", "set", "initech/hris", "--authentication-file", file("none.json", "{}"))
	require.Regexp(t, `authentication +-`, s.cli("integration", "show", "initech/hris"))
}
