// Package apply is the Apply API: the contract's part C. Partners sign in, ask what a job wants to know, and apply for it.
package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/gateway"
)

// API serves the Apply API, below whatever path it is mounted; that path is taken off before. Make it with New.
type API struct {
	Gateway *gateway.Gateway
	// Tenant is the only tenant that is served here; empty: each user is served as its own tenant's.
	Tenant string
	// Rate is how many requests a user may send.
	Rate hiring.Rate
	// Guards slow down who is too fast. What it holds outlives a configuration.
	Guards *Guards
	// Address tells where a request comes from.
	Address func(*http.Request) string
	Log     *zap.Logger
}

// DefaultRate is how many requests a user may send, unless configured otherwise.
var DefaultRate = hiring.Rate{PerSecond: 20, Burst: 100}

// exchange is a request, and what is known of it.
type exchange struct {
	*API
	w     http.ResponseWriter
	r     *http.Request
	db    *store.DB
	user  *hiring.APIUser // nil: the route is public
	token identity.Hash   // the user's
	code  string          // the path's job board code, or compliance group
}

type route struct {
	method string // HEAD goes with GET
	public bool
	serve  func(*exchange) *refusal
}

var routes = map[string]route{
	"/v2/authentication": {method: http.MethodPost, public: true, serve: (*exchange).authenticate},
	"/v2/application":    {method: http.MethodPost, serve: (*exchange).apply},
	"/v2/job/*/question": {method: http.MethodGet, serve: (*exchange).questions},
	"/feed/jobs.json":    {method: http.MethodGet, public: true, serve: (*exchange).feed},
	"/compliance/*":      {method: http.MethodGet, public: true, serve: (*exchange).compliance},
	"/openapi.json":      {method: http.MethodGet, public: true, serve: (*exchange).openAPI},
}

// find finds the route of a path as it was escaped, so that a slash in a job board code (%2F) stays inside of it.
func find(path string) (r route, code string, ok bool) {
	for pattern, r := range routes {
		before, after, variable := strings.Cut(pattern, "*")
		if !variable {
			if path == pattern {
				return r, "", true
			}
			continue
		}
		rest, begins := strings.CutPrefix(path, before)
		middle, ends := strings.CutSuffix(rest, after)
		if !begins || !ends || middle == "" || strings.Contains(middle, "/") {
			continue
		}
		code, err := url.PathUnescape(middle)
		return r, code, err == nil
	}
	return route{}, "", false
}

// requestID is the header that names a request in its answer and in the log.
const requestID = "X-Request-Id"

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(requestID, requestIDOf(r))
	if refused := a.serve(w, r); refused != nil {
		refused.write(w, r)
	}
}

// requestIDOf is the id that the sender gave the request, or a new one.
func requestIDOf(r *http.Request) string {
	id := r.Header.Get(requestID)
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return uuid.NewString()
	}
	return id
}

func (a *API) serve(w http.ResponseWriter, r *http.Request) *refusal {
	route, code, ok := find(r.URL.EscapedPath())
	if !ok || gateway.LeadsAway(r) {
		return refuse(http.StatusNotFound, "the Apply API has nothing at this address")
	}
	if r.Method != route.method && (r.Method != http.MethodHead || route.method != http.MethodGet) {
		allow := route.method
		if allow == http.MethodGet {
			allow = "GET, HEAD"
		}
		w.Header().Set("Allow", allow)
		return refuse(http.StatusMethodNotAllowed, "this address takes "+allow+" only")
	}
	release, ok := a.Gateway.Hold(w)
	if !ok {
		return storeAway()
	}
	defer release()
	x := &exchange{API: a, w: w, r: r, db: a.Gateway.Runtime.Store(), code: code}
	if !route.public {
		if refused := x.admit(); refused != nil {
			return refused
		}
	}
	if route.method == http.MethodPost {
		if refused := x.checkType(); refused != nil {
			return refused
		}
	}
	return route.serve(x)
}

// admit finds out whose request it is, and whether that user may send another one now.
func (x *exchange) admit() *refusal {
	token, ok := tokenOf(x.r)
	if !ok {
		metrics.KeyRefused("apply", metrics.KeyMissing)
		return x.unauthorized(`Bearer realm="apply"`, "send the header Authorization with the word Bearer and a token of /v2/authentication").closing()
	}
	x.token = identity.HashSecret(token)
	user, refused := x.holder(x.Gateway.Now())
	if refused != nil {
		return refused
	}
	x.user = user
	allowance := x.Guards.take(user.ID, x.Rate, x.Gateway.Now())
	allowance.tell(x.w.Header())
	if allowance.wait > 0 {
		return refuse(http.StatusTooManyRequests, "too many requests: wait as long as the header Retry-After says").after(allowance.wait)
	}
	return nil
}

// holder reads whom the request's token stands for, if it is good at a time.
func (x *exchange) holder(at time.Time) (*hiring.APIUser, *refusal) {
	user, err := x.db.APIUserByToken(x.r.Context(), x.token, at)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, x.away(err)
	}
	if err != nil || !x.serves(user.Tenant) {
		return nil, x.ended()
	}
	return user, nil
}

// ended is the refusal for a token that is not good, or no longer.
func (x *exchange) ended() *refusal {
	metrics.KeyRefused("apply", metrics.KeyUnknown)
	return x.unauthorized(`Bearer realm="apply", error="invalid_token"`, "the token is unknown, expired or revoked: ask /v2/authentication for a new one").closing()
}

// serves tells whether a tenant's users and jobs are served at this address.
func (a *API) serves(tenant string) bool {
	_, ok := a.Gateway.Config.Tenant(tenant)
	return ok && (a.Tenant == "" || a.Tenant == tenant)
}

// tokenOf reads the token of a request. The contract shows it behind the word Bearer as well as behind Token.
func tokenOf(r *http.Request) (string, bool) {
	sent := r.Header.Values("Authorization")
	if len(sent) != 1 {
		return "", false
	}
	word, token, ok := strings.Cut(strings.TrimSpace(sent[0]), " ")
	token = strings.TrimLeft(token, " ")
	known := strings.EqualFold(word, "Bearer") || strings.EqualFold(word, "Token")
	return token, ok && known && token != "" && !strings.ContainsAny(token, " \t")
}

func (x *exchange) checkType() *refusal {
	if gateway.TextType(x.r.Header) != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "send JSON, with the header Content-Type: application/json").closing()
	}
	if gateway.Encoded(x.r.Header) {
		return refuse(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding").closing()
	}
	return nil
}

func (x *exchange) unauthorized(challenge, message string) *refusal {
	x.w.Header().Set("WWW-Authenticate", challenge)
	return refuse(http.StatusUnauthorized, message)
}

// away is the refusal for a store that can't be read or written.
func (x *exchange) away(err error) *refusal {
	if x.r.Context().Err() == nil {
		x.Log.Error("the Apply API could not use the store", zap.String("request", x.id()), zap.Error(err))
	}
	return storeAway()
}

// broken is the refusal for what is our fault.
func (x *exchange) broken(doing string, err error) *refusal {
	x.Log.Error(doing, zap.String("request", x.id()), zap.Error(err))
	return refuse(http.StatusInternalServerError, "this could not be done, and that is our fault: tell us the header X-Request-Id of this answer")
}

func (x *exchange) id() string { return x.w.Header().Get(requestID) }

// json answers 200 with a value.
func (x *exchange) json(v any) *refusal {
	body, err := encode(v)
	if err != nil {
		return x.broken("an answer could not be written", err)
	}
	send(x.w, http.StatusOK, body)
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // nobody is left to be told of an error
}
