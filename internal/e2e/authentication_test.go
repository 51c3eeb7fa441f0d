package e2e

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// guarded is a receiver that wants an API key, a bearer token, or one that it issues itself, as the path says.
type guarded struct {
	mu     sync.Mutex
	apiKey string
	token  string // issued last
	issued int
	events map[string]int // that were let in, by path and event
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	allowed := false
	switch r.URL.Path {
	case "/token":
		if id, secret, _ := r.BasicAuth(); id != "gate" || secret != "client-secret" || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		g.issued++
		g.token = rand.Text()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": g.token, "token_type": "Bearer", "expires_in": 3600})
		return
	case "/header":
		allowed = r.Header.Get("X-Api-Key") == g.apiKey
	case "/bearer":
		allowed = r.Header.Get("Authorization") == "Bearer bearer-token"
	case "/oauth":
		allowed = r.Header.Get("Authorization") == "Bearer "+g.token
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
	g := &guarded{apiKey: "api-key", events: map[string]int{}}
	receiver := httptest.NewServer(g)
	t.Cleanup(receiver.Close)
	tenant := ""
	for name, of := range map[string][2]string{
		"header": {receiver.URL + "/header", "header X-Api-Key {env.API_KEY}"},
		"bearer": {receiver.URL + "/bearer", "bearer {env.BEARER}"},
		"oauth":  {receiver.URL + "/oauth", "oauth2 {\ntoken_url " + receiver.URL + "/token\nclient_id gate\nclient_secret {env.CLIENT_SECRET}\n}"},
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
		"basic": "delivered", "tls": "delivered", "wrong": "held"})
	require.Contains(t, s.cli("integration", "show", "acme/wrong"), "it does not accept the signature or the credentials")
	g.set(func() {
		require.Equal(t, 1, g.issued)
		for _, path := range []string{"/header", "/bearer", "/oauth"} {
			require.Equal(t, 1, g.events[path+" VERIFY"], path)
			require.Equal(t, 1, g.events[path+" CANDIDATE-EXPORT"], path)
		}
		g.token, g.apiKey = "revoked", "another key"
	})

	second := s.accepted(minimal("c-2"))
	s.awaitOutcomes(second, map[string]string{"oauth": "delivered", "header": "retrying"})
	g.set(func() {
		require.Equal(t, 2, g.issued, "the token was not renewed")
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
