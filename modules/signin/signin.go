// Package signin serves the OpenID provider: people of the service sign in here, for the applications of its partners.
// It supports the authorization code flow (OpenID Connect Core 1.0 section 3.1) and confidential clients only.
package signin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/internal/welcome"
)

// Provider is the OpenID provider of one issuer. Several in a process share users, clients and keys with the database;
// sessions, codes and tokens are valid only at their issuer. Make it with New.
type Provider struct {
	Gateway *gateway.Gateway
	Issuer  string // {base_url} of the contract: https, without a slash at the end
	Title   string // the service, for people; empty: the name of the only tenant, or else that in the configuration
	Ring    *Ring
	Vault   *vault.Vault
	// Upstreams are other providers where people may sign in: a single one without a name, or named ones.
	Upstreams []*Upstream
	Failures  *password.Failures
	// SessionEnd and GrantEnd are how long a session, and what is granted in it, lasts from the sign-in. Default:
	// identity.SessionLife and GrantLife.
	SessionEnd, GrantEnd time.Duration
	Address              func(*http.Request) string // where a request comes from
	Log                  *zap.Logger

	noted    *sync.Map // *rate.Limiter by event and client
	refusals *refusals
	guard    *http.CrossOriginProtection
	cookie   string
	mount    string // the path of the issuer, escaped
	mux      *http.ServeMux
}

// The addresses that applications ask with their secret.
const (
	tokenPath  = "/openId/accessToken"
	revokePath = "/oauth/revoke"
)

// New completes a provider.
func New(p Provider) *Provider {
	p.SessionEnd, p.GrantEnd = cmp.Or(p.SessionEnd, identity.SessionLife), cmp.Or(p.GrantEnd, identity.GrantLife)
	sum := sha256.Sum256([]byte(p.Issuer))
	p.cookie = "__Host-signin-" + hex.EncodeToString(sum[:4]) // sites of one host don't share it
	if u, err := url.Parse(p.Issuer); err == nil {
		p.mount = u.EscapedPath()
	}
	p.noted, p.refusals = new(sync.Map), newRefusals(&p)
	p.guard = http.NewCrossOriginProtection()
	p.mux = http.NewServeMux()
	const get, post, both = "GET, HEAD", "POST", "GET, HEAD, POST"
	p.handle("/oauth/authorize", both, gateway.IdleHead(p.authorize))
	p.handle("/oauth/sign-in", post, p.ownForm(p.signIn))
	p.handle("/oauth/factor", post, p.ownForm(p.factor))
	p.handle(choosePath, post, p.ownForm(p.choose))
	p.handle("/oauth/denied", post, p.ownForm(p.denied))
	p.handle("/oauth/consent", post, p.ownForm(p.consent))
	p.handle(passwordPath, get, gateway.IdleHead(p.ownPassword))
	p.handle(passwordPath+"/change", post, p.ownForm(p.changePassword))
	p.handle(factorPath, get, gateway.IdleHead(p.ownFactor))
	p.handle(factorPath+"/change", post, p.ownForm(p.changeFactor))
	p.handle(factorPath+"/set-up", post, p.ownForm(p.setUpFactor))
	p.handle(RecoveryPath, get, gateway.IdleHead(p.recovery))
	p.handle(RecoveryPath+"/choose", post, p.ownForm(p.recovered))
	p.handle(sessionsPath, get, gateway.IdleHead(p.sessions))
	p.handle(sessionsPath+"/end", post, p.ownForm(p.endSessions))
	p.handle("/oauth/logout", both, gateway.IdleHead(p.logout))
	p.handle("/oauth/sign-out", post, p.ownForm(p.signOut))
	p.handle(tokenPath, post, p.token)
	p.handle(revokePath, post, p.revoke)
	p.handle("/oauth/userinfo", "GET, HEAD, POST, OPTIONS", p.userinfo)
	p.handle("/oauth/jwks", get, p.jwks)
	p.handle("/.well-known/openid-configuration", get, p.discovery)
	if len(p.Upstreams) > 0 {
		p.handle(upstreamPath, post, p.ownForm(p.toUpstream))
	}
	for _, u := range p.Upstreams {
		p.handle(u.path("callback"), get, gateway.IdleHead(func(w http.ResponseWriter, r *http.Request) { p.fromUpstream(w, r, u) }))
		p.handle(u.path("logout"), post, func(w http.ResponseWriter, r *http.Request) { p.upstreamLogout(w, r, u) })
	}
	p.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { p.reject(w, r, errNotFound) })
	p.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !welcome.WantsPage(r) {
			p.reject(w, r, errNotFound)
			return
		}
		p.message(w, r, http.StatusOK, func(t *texts) (string, string) { return t.HomeTitle, p.fill(t.Home, "") })
	})
	return &p
}

// handle routes a path to a handler, for methods in the form of the header Allow. Others are answered 405: people come
// here with the address of a form that they sent before.
func (p *Provider) handle(path, methods string, serve http.HandlerFunc) {
	for _, method := range strings.Split(methods, ", ") {
		p.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, serve) })
	}
	p.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", methods)
		p.reject(w, r, oauthError(http.StatusMethodNotAllowed, "invalid_request",
			"this address takes "+methods+" only"))
	})
}

// ServeHTTP answers requests below the base URL, whose path was stripped before.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path.Clean(r.URL.Path) != r.URL.Path { // which the mux would redirect
		p.reject(w, r, errNotFound)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// serve reads the body of a POST and calls the handler. The store stays open until it returns.
func (p *Provider) serve(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
	release, ok := p.Gateway.Hold(w)
	if !ok {
		p.reject(w, r, errStoreAway)
		return
	}
	defer release()
	if r.Method == http.MethodPost {
		done, err := p.body(w, r)
		if err != nil {
			p.reject(w, r, errBusy)
			return
		}
		defer done()
	}
	handler(w, r)
}

func (p *Provider) db() *store.DB  { return p.Gateway.Runtime.Store() }
func (p *Provider) now() time.Time { return p.Gateway.Now().UTC().Truncate(time.Microsecond) }
