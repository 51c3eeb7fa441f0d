// Package gate lets people into an application who are signed in at an OpenID provider, and tells it who they are. The
// application has nothing to do with OpenID Connect.
package gate

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/limits"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/translation"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/welcome"
)

// Gate stands before an application.
type Gate struct {
	Gateway  *gateway.Gateway
	Provider *oidcclient.Provider
	Vault    *vault.Vault // seals cookies and sessions
	Allow    Allow
	Tokens   *Tokens // nil: applications get none
	Public   Public
	Domain   Domain
	SignIn   string // the host, perhaps with a port, of Domain to which the provider leads back; empty: each to itself
	Prefix   string // of the gate's own addresses, such as /oauth2
	Life     time.Duration
	Watch    time.Duration                // how often the sessions of requests that last are looked up
	Title    string                       // the application, for people; empty: its host
	Contact  string                       // the e-mail address of whoever lets people in; empty: none is shown
	Returns  *limits.Limits               // from the provider, by network
	Address  func(*http.Request) string   // where a request comes from
	Origin   func(*http.Request) *url.URL // scheme and host at which browsers reach the application
	Sent     func(*http.Request) *url.URL // the address as it was sent, before the server took a prefix off
	Log      *zap.Logger
	guard    http.CrossOriginProtection
}

// NewReturns makes the limits of how often a network comes back from providers: an office of hundreds that opens its tabs in
// the morning is no flood. They outlive a configuration.
func NewReturns() *limits.Limits { return limits.New(time.Second/5, 300) }

// WatchEvery is a good value of Gate.Watch: a request ends within 30 s after its session.
const WatchEvery = 20 * time.Second

// cookies begins the names of all cookies of gates, after a prefix. None of them reaches an application.
const cookies = "gate-"

// visitor is a request, with what the gate has found out about it.
type visitor struct {
	*http.Request
	w      http.ResponseWriter
	gate   *Gate
	at     *url.URL // see Gate.Origin
	origin string   // the same
	mount  string   // the path below which the gate stands, which the server takes off; mostly empty
	site   *session.Site
	texts  *texts
}

func (g *Gate) visitor(w http.ResponseWriter, r *http.Request) *visitor {
	at := g.Origin(r)
	v := &visitor{Request: r, w: w, gate: g, at: at, origin: at.String(), texts: translation.For(r, translations)}
	if sent, path := g.Sent(r).EscapedPath(), r.URL.EscapedPath(); strings.HasSuffix(sent, path) {
		v.mount = strings.TrimSuffix(sent, path)
	}
	hosts := v.origin + v.mount
	if g.Domain != "" {
		hosts = at.Scheme + "://*." + string(g.Domain)
	}
	address := identity.GateAddress(hosts+g.Prefix, g.Provider.Issuer, g.Provider.ClientID)
	sum := digest.Of(address)
	v.site = &session.Site{Address: address, Callback: v.origin + v.mount + g.Prefix + "/callback",
		Cookie: "__Host-" + cookies + hex.EncodeToString(sum[:4]), Domain: string(g.Domain), Life: g.Life,
		Provider: g.Provider, Vault: g.Vault,
		Store: func() *store.DB { return g.Gateway.Runtime.Store() }, Now: g.Gateway.Now, From: g.Address,
		Refresh: true, Log: g.Log, Named: func(group string) bool { return slices.Contains(g.Allow.Groups, group) }}
	return v
}

// ServeHTTP passes the requests of people who may use the application on to it, and those to public paths. It answers all
// others.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request, application http.Handler) {
	removeIdentity(r.Header)
	below, ours := strings.CutPrefix(r.URL.Path, g.Prefix+"/")
	if !ours && g.Public.has(r.URL) {
		session.RemoveCookies(r, cookies)
		application.ServeHTTP(w, r)
		return
	}
	v := g.visitor(w, r)
	if ours {
		v.serveOwn(below)
		return
	}
	s, ok := v.admitted(false)
	if !ok {
		return
	}
	v.identify(r.Header, s)
	session.RemoveCookies(r, cookies)
	ctx, end := context.WithCancel(r.Context())
	defer end()
	go v.watch(ctx, s.Hash, end)
	application.ServeHTTP(w, r.WithContext(ctx))
}

// watch ends a request that lasts, as a websocket does, soon after its session.
func (v *visitor) watch(ctx context.Context, hash identity.Hash, end func()) {
	defer end()
	for wait.For(ctx, v.gate.Watch) && v.lasts(ctx, hash) {
	}
}

// lasts reports whether a session is still one of somebody who may use the application, as far as the database says.
func (v *visitor) lasts(ctx context.Context, hash identity.Hash) bool {
	release, ok := v.gate.Gateway.Runtime.Store().Acquire()
	if !ok {
		return true
	}
	defer release()
	s, err := v.site.Lookup(ctx, hash)
	return err != nil || s != nil && v.gate.Allow.permits(s)
}

// admitted returns the session of a visitor who may use the application. It answers all others: asked says that the
// request is about a session, and is not to start a sign-in.
func (v *visitor) admitted(asked bool) (*session.Session, bool) {
	release, ok := v.gate.Gateway.Hold(v.w)
	if !ok {
		v.away()
		return nil, false
	}
	defer release()
	s, err := v.site.Find(v.Request)
	switch {
	case err != nil:
		v.broken(err)
	case s == nil && !asked && v.navigates():
		v.leave(v.origin+v.gate.Sent(v.Request).RequestURI(), "")
	case s == nil:
		problem.New(http.StatusUnauthorized, "nobody is signed in, or the session has ended: open the application in a "+
			"browser and sign in").Write(v.w)
	case !v.gate.Allow.permits(s) && !asked && v.navigates():
		v.denied(s)
	case !v.gate.Allow.permits(s):
		problem.New(http.StatusForbidden, "the account that is signed in may not use this application: sign in with "+
			"another one, or ask those who run the application").Write(v.w)
	default:
		return s, true
	}
	return nil, false
}

// navigates reports whether a browser asks for a page to show. Only then a sign-in starts: anything else could not show
// the provider's page, or would be lost on the way.
func (v *visitor) navigates() bool {
	if v.Method != http.MethodGet || v.Header.Get("Upgrade") != "" ||
		strings.Contains(v.Header.Get("Sec-Purpose")+v.Header.Get("Purpose"), "prefetch") {
		return false
	}
	if mode := v.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return v.Header.Get("X-Requested-With") == "" && welcome.WantsPage(v.Request)
}
