// Package apply serves the Apply API, part C of the contract: partners sign in, read a job's questions, and apply for
// it.
package apply

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/welcome"
)

// API serves the Apply API, below any path, which is stripped before. Make it with New.
type API struct {
	Gateway *gateway.Gateway
	// Tenant is the only tenant that is served here; empty: each user is served as its own tenant's.
	Tenant string
	// Rate limits the requests of each user.
	Rate model.Rate
	// Guards limit the rate of requests and of wrong passwords. Their state outlives a configuration.
	Guards *Guards
	// Address returns where a request comes from.
	Address func(*http.Request) string
	Log     *zap.Logger
	// CheckWithin limits the time for which an application waits for a place to be checked; 0: half a minute.
	CheckWithin time.Duration

	mux     *http.ServeMux
	refused *refusedAnswers
}

// DefaultRate limits the requests of a user, unless it is configured.
var DefaultRate = model.Rate{PerSecond: 20, Burst: 100}

// handler answers a request. If it returns an error it has answered nothing: a *problem.Problem is for the sender, any
// other error is ours.
type handler func(http.ResponseWriter, *http.Request) error

// New completes an API.
func New(a API) *API {
	a.mux, a.refused, a.CheckWithin = http.NewServeMux(), newRefusedAnswers(&a), cmp.Or(a.CheckWithin, checkWithin)
	a.handle(http.MethodPost, "/v2/authentication", a.authenticate)
	a.handle(http.MethodPost, "/v2/application", a.forUsers(a.apply))
	a.handle(http.MethodGet, "/v2/job/{code}/question", a.forUsers(a.questions))
	a.handle(http.MethodGet, "/feed/jobs.json", a.feed)
	a.handle(http.MethodGet, "/compliance/{group}", a.compliance)
	a.handle(http.MethodGet, "/openapi.json", a.openAPI)
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { refuse(w, r, errNotFound) })
	a.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !welcome.WantsPage(r) {
			refuse(w, r, errNotFound)
			return
		}
		welcome.Show(w, r, http.StatusOK, welcome.Apply)
	})
	return &a
}

// handle routes a method and a path to a handler; GET stands for HEAD as well. Other methods are answered 405.
func (a *API) handle(method, path string, serve handler) {
	a.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) {
		release, ok := a.Gateway.Hold(w)
		if !ok {
			refuse(w, r, errStoreAway)
			return
		}
		defer release()
		if err := serve(w, r); err != nil {
			refuse(w, r, a.problemOf(w, r, err))
		}
	})
	allow := method
	if method == http.MethodGet {
		allow = "GET, HEAD"
	}
	a.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		refuse(w, r, problem.New(http.StatusMethodNotAllowed, "this address takes "+allow+" only"))
	})
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(requestID, requestIDOf(r))
	if gateway.LeadsAway(r) || !clean(r.URL.EscapedPath()) { // which the mux would redirect
		refuse(w, r, errNotFound)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// clean reports whether a path has no empty segment.
func clean(path string) bool { return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") }

// requestID is the header that names a request in its answer and in the log.
const requestID = "X-Request-Id"

// requestIDOf returns the sender's id of a request, or a new one.
func requestIDOf(r *http.Request) string {
	id := r.Header.Get(requestID)
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return uuid.NewString()
	}
	return id
}

// problemOf returns the problem with which an error is answered. It logs an error that is ours.
func (a *API) problemOf(w http.ResponseWriter, r *http.Request, err error) *problem.Problem {
	if refused, ok := errors.AsType[*problem.Problem](err); ok {
		return refused
	}
	if r.Context().Err() != nil { // the client is gone
		return errStoreAway
	}
	a.Log.Error("the Apply API could not answer", zap.String("request", w.Header().Get(requestID)), zap.Error(err))
	if unreachable(err) {
		return errStoreAway
	}
	return problem.New(http.StatusInternalServerError,
		"this could not be done, and that is our fault: tell us the header X-Request-Id of this answer").Closing()
}

// caller identifies the sender of a request: the user and the token.
type caller struct {
	user  *model.APIUser
	token identity.Hash
}

// forUsers returns a handler for serve, which needs the user. It refuses requests without a valid token, and those
// above the user's rate.
func (a *API) forUsers(serve func(http.ResponseWriter, *http.Request, *caller) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, ok := tokenOf(r)
		if !ok {
			return errNoToken
		}
		c := &caller{token: identity.HashSecret(token)}
		var err error
		if c.user, err = a.holder(r, c.token, a.Gateway.Now()); err != nil {
			return err
		}
		allowance := a.Guards.limit(c.user.ID, a.Rate, a.Gateway.Now())
		allowance.writeHeaders(w.Header())
		if allowance.wait > 0 {
			return problem.New(http.StatusTooManyRequests,
				"too many requests: wait as long as the header Retry-After says").RetryAfter(allowance.wait)
		}
		return serve(w, r, c)
	}
}

// holder returns the user of a token that is valid at a time.
func (a *API) holder(r *http.Request, token identity.Hash, at time.Time) (*model.APIUser, error) {
	user, err := a.db().APIUserByToken(r.Context(), token, at)
	if errors.Is(err, store.ErrNotFound) || err == nil && !a.serves(user.Tenant) {
		return nil, errBadToken
	}
	return user, err
}

// serves reports whether a tenant's users and jobs are served at this address.
func (a *API) serves(tenant string) bool {
	_, ok := a.Gateway.Config.Tenant(tenant)
	return ok && (a.Tenant == "" || a.Tenant == tenant)
}

func (a *API) db() *store.DB { return a.Gateway.Runtime.Store() }

// tokenOf reads the token of a request. The contract shows it after the word Bearer as well as after Token.
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

// checkJSON refuses a body that is not JSON, or is compressed.
func checkJSON(r *http.Request) error {
	switch {
	case gateway.TextType(r.Header) != "application/json":
		return problem.New(http.StatusUnsupportedMediaType,
			"send JSON, with the header Content-Type: application/json").Closing()
	case gateway.Encoded(r.Header):
		return problem.New(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding").Closing()
	}
	return nil
}
