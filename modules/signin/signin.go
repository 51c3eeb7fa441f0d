// Package signin is the OpenID provider: people of the service sign in here, for the applications of its partners. It knows the
// authorization code flow (OpenID Connect Core 1.0 section 3.1) and confidential clients only.
package signin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/inbound"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/gateway"
)

// Provider is the OpenID provider of one issuer. Several of a process share users, clients and keys with the database; sessions,
// codes and tokens are good at their issuer alone. Make it with New.
type Provider struct {
	Gateway  *gateway.Gateway
	Issuer   string // {base_url} of the contract: https, without a slash at the end
	Title    string // the service, for people
	Ring     *Ring
	Vault    *vault.Vault
	Upstream *Upstream // where people may sign in instead; nil: nowhere
	Failures *password.Failures
	Address  func(*http.Request) string // where a request comes from
	Log      *zap.Logger

	noted  *sync.Map // *rate.Limiter by event and client
	guard  *http.CrossOriginProtection
	cookie string
	mount  string // the path of the issuer, escaped
	routes map[string]route
}

type route struct {
	methods string // those that are allowed, as the header Allow has them
	serve   http.HandlerFunc
}

// New completes a provider.
func New(p Provider) *Provider {
	sum := sha256.Sum256([]byte(p.Issuer))
	p.cookie = "__Host-signin-" + hex.EncodeToString(sum[:4]) // sites of one host don't share it
	if u, err := url.Parse(p.Issuer); err == nil {
		p.mount = u.EscapedPath()
	}
	p.noted = new(sync.Map)
	p.guard = http.NewCrossOriginProtection()
	const read = "GET, HEAD"
	p.routes = map[string]route{
		"/oauth/authorize":                  {"GET, HEAD, POST", p.authorize},
		"/oauth/sign-in":                    {http.MethodPost, p.ownForm(p.signIn)},
		"/oauth/factor":                     {http.MethodPost, p.ownForm(p.factor)},
		"/oauth/consent":                    {http.MethodPost, p.ownForm(p.consent)},
		"/oauth/logout":                     {"GET, HEAD, POST", p.logout},
		"/oauth/sign-out":                   {http.MethodPost, p.ownForm(p.signOut)},
		"/openId/accessToken":               {http.MethodPost, p.token},
		"/oauth/revoke":                     {http.MethodPost, p.revoke},
		"/oauth/userinfo":                   {"GET, HEAD, POST, OPTIONS", p.userinfo},
		"/oauth/jwks":                       {read, p.jwks},
		"/.well-known/openid-configuration": {read, p.discovery},
	}
	if p.Upstream != nil {
		p.routes["/oauth/upstream"] = route{http.MethodPost, p.ownForm(p.toUpstream)}
		p.routes[upstreamCallback] = route{read, p.fromUpstream}
	}
	return &p
}

// ServeHTTP answers what is below the base URL, which is taken off the path before.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, ok := p.routes[r.URL.Path]
	if !ok {
		p.notFound(w, r)
		return
	}
	if !allows(route.methods, r.Method) {
		p.notAllowed(w, r, route.methods)
		return
	}
	release, ok := p.Gateway.Hold(w)
	if !ok {
		p.closed(w, r)
		return
	}
	defer release()
	if r.Method == http.MethodPost {
		done, ok := p.body(w, r)
		if !ok {
			return
		}
		defer done()
	}
	route.serve(w, r)
}

func allows(methods, method string) bool {
	for _, one := range strings.Split(methods, ", ") {
		if one == method {
			return true
		}
	}
	return false
}

// closed answers while the store is, at the addresses that applications ask in their errors' form, whatever they accept.
func (p *Provider) closed(w http.ResponseWriter, r *http.Request) {
	switch {
	case forApplications(r):
		unavailable(w, noDatabase)
	case wantsPage(r):
		p.broken(w, r)
	default:
		problem.Unavailable(w)
	}
}

// bodyName shares the memory for bodies with tenants, whose names have no slash.
const bodyName = "/signin"

// body reads the body of a request, which is a form where it is anything, before anybody looks at it. One that is too large, too slow or
// cut off is an error to whoever reads it. Call done when the request is answered.
func (p *Provider) body(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	body, err := p.Gateway.Runtime.Unverified.Read(w, r, bodyName, maxForm)
	switch {
	case errors.Is(err, inbound.ErrBusy):
		p.busy(w, r)
		return nil, false
	case err != nil:
		r.Body = unreadable{err}
		return func() {}, true
	}
	r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	return body.Release, true
}

// unreadable is a body that could not be read.
type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }
func (u unreadable) Close() error             { return nil }

// busy answers while there is no memory for another body.
func (p *Provider) busy(w http.ResponseWriter, r *http.Request) {
	const detail = "sign-in is asked too much at this moment: ask again in a few seconds"
	switch {
	case forApplications(r):
		unavailable(w, detail)
	case wantsPage(r):
		p.broken(w, r)
	default:
		problem.New(http.StatusServiceUnavailable, detail).RetryAfter(5 * time.Second).Write(w)
	}
}

// forApplications tells whether an address is one that applications ask with their secret.
func forApplications(r *http.Request) bool {
	return r.URL.Path == "/openId/accessToken" || r.URL.Path == "/oauth/revoke"
}

func (p *Provider) notFound(w http.ResponseWriter, r *http.Request) {
	if wantsPage(r) {
		p.noPage(w, r, http.StatusNotFound)
		return
	}
	problem.New(http.StatusNotFound, "sign-in has nothing at this address").Write(w)
}

// notAllowed answers 405, at the addresses that applications ask in their errors' form. People come here with the address of a form that
// they sent before.
func (p *Provider) notAllowed(w http.ResponseWriter, r *http.Request, methods string) {
	switch {
	case forApplications(r):
		w.Header().Set("Allow", methods)
		writeError(w, http.StatusMethodNotAllowed, "invalid_request", "this address takes POST only")
	case wantsPage(r):
		w.Header().Set("Allow", methods)
		p.noPage(w, r, http.StatusMethodNotAllowed)
	default:
		problem.MethodNotAllowed(w, methods)
	}
}

func (p *Provider) db() *store.DB  { return p.Gateway.Runtime.Store() }
func (p *Provider) now() time.Time { return p.Gateway.Now().UTC().Truncate(time.Microsecond) }

// maxForm is the largest body, in bytes; maxRequest that of an authorization request.
const (
	maxForm    = 64 << 10
	maxRequest = 16 << 10
)

// form reads a body of type application/x-www-form-urlencoded, and nothing of the query. It is false for any other, for one that is
// too large and for one that is cut off.
func form(r *http.Request) (url.Values, bool) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return nil, false
	}
	if r.ParseForm() != nil {
		// A body that is wrong gives an error as well as a query that is; the query is none of our business here.
		return nil, false
	}
	return r.PostForm, true
}

// repeated tells whether a parameter comes more than once (RFC 6749 section 3.1 and 3.2).
func repeated(v url.Values) bool {
	for _, values := range v {
		if len(values) > 1 {
			return true
		}
	}
	return false
}

// writeJSON answers with JSON that nobody keeps.
func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil { // of maps of strings and numbers
		status, raw = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
		h.Set("Pragma", "no-cache")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(append(raw, '\n'))
}

// writeError answers with an error as RFC 6749 section 5.2 has them.
func writeError(w http.ResponseWriter, status int, code, description string) {
	writeJSON(w, status, map[string]string{"error": code, "error_description": description})
}

// storeAway answers an application that the store can't be used now.
func (p *Provider) storeAway(w http.ResponseWriter, r *http.Request, err error) {
	p.report(r, err)
	unavailable(w, noDatabase)
}

const noDatabase = "sign-in can't use its database now: ask again in a moment"

func unavailable(w http.ResponseWriter, description string) {
	w.Header().Set("Retry-After", "5")
	writeError(w, http.StatusServiceUnavailable, "temporarily_unavailable", description)
}

func (p *Provider) report(r *http.Request, err error) {
	if r.Context().Err() == nil {
		p.Log.Error("sign-in could not answer", zap.String("path", r.URL.Path), zap.Error(err))
	}
}

// entry begins an entry of the log of sign-ins.
func (p *Provider) entry(r *http.Request, event, result, client, user string) *identity.Entry {
	return &identity.Entry{At: p.now(), Event: event, Result: result, Issuer: p.Issuer, Client: client, UserID: user, Address: p.Address(r)}
}

// Of what goes wrong for a client, the log takes in a hundred entries at once, and one a second: whoever knows a client's id can
// have it go wrong. The metrics count all.
const (
	notedAtOnce    = 100
	notedPerSecond = 1
)

// note writes what went wrong into the log of sign-ins. A request is not refused because that failed.
func (p *Provider) note(r *http.Request, e *identity.Entry) {
	limit, _ := p.noted.LoadOrStore(e.Event+" "+e.Client, rate.NewLimiter(notedPerSecond, notedAtOnce))
	if !limit.(*rate.Limiter).AllowN(e.At, 1) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	if err := p.db().Write(ctx, func(tx *store.Tx) error { return tx.LogSignin(e) }); err != nil {
		p.Log.Error("the log of sign-ins could not be written", zap.Error(err))
	}
}
