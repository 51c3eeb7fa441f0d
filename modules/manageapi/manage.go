// Package manageapi is the management API: what operators and their tools ask of a running gateway.
package manageapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/welcome"
	"github.com/hiregate/hiregate/workflows"
)

// API serves the routes of routes.go, whatever path it is mounted under; that path is taken off before. openapi.json
// describes them.
//
// Answers are JSON, errors application/problem+json. Times are RFC 3339 in UTC; one that is not set is left out.
type API struct {
	gateway func() *gateway.Gateway
	who     func(*request) (caller, error)
	local   bool // for the command line on this machine, which is told whom it talks to
	log     *zap.Logger
	// refusals is log, sampled: whoever has no key must not fill the disk.
	refusals *zap.Logger
	mux      *http.ServeMux
}

// New makes the API of the gateway that is asked for with each request; nil says that none is running. It asks nobody
// who they are: whoever mounts it lets in only those who may do everything.
func New(gateway func() *gateway.Gateway, log *zap.Logger) *API {
	a := newAPI(gateway, (*request).local, log)
	a.local = true
	return a
}

// NewKeyed makes the API for those who have an API key, each within its tenant and its role.
func NewKeyed(gateway func() *gateway.Gateway, log *zap.Logger) *API {
	return newAPI(gateway, (*request).authenticate, log)
}

// NewForPeople makes the API for those who are signed in: see model.WithPerson.
func NewForPeople(gateway func() *gateway.Gateway, log *zap.Logger) *API {
	return newAPI(gateway, (*request).person, log)
}

func newAPI(gateway func() *gateway.Gateway, who func(*request) (caller, error), log *zap.Logger) *API {
	sampled := zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(c, time.Minute, refusalsAMinute, 0)
	})
	a := &API{gateway: gateway, who: who, log: log, refusals: log.WithOptions(sampled), mux: http.NewServeMux()}
	allowed := map[string][]string{}
	handle := func(method, path string, h http.HandlerFunc) {
		a.mux.HandleFunc(method+" "+path, h)
		allowed[path] = append(allowed[path], method)
		if method == http.MethodGet {
			allowed[path] = append(allowed[path], http.MethodHead)
		}
	}
	for _, r := range routes() {
		handle(r.method, r.path, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
	}
	for path, document := range descriptions() {
		handle(http.MethodGet, path, func(w http.ResponseWriter, _ *http.Request) {
			(&answer{status: http.StatusOK, body: document}).write(w)
		})
	}
	for path, methods := range allowed {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		a.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { problem.MethodNotAllowed(w, allow) })
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { nothingHere.Write(w) })
	a.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !welcome.WantsPage(r) {
			nothingHere.Write(w)
			return
		}
		welcome.Show(w, r, http.StatusOK, welcome.Manage)
	})
	return a
}

// refusalsAMinute is how many refused keys the log has of each reason; the metric counts them all.
const refusalsAMinute = 10

var nothingHere = problem.New(http.StatusNotFound, "the management API has nothing at this address")

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if gateway.LeadsAway(r) {
		nothingHere.Write(w)
		return
	}
	a.mux.ServeHTTP(w, r)
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, route route) {
	g := a.gateway()
	if g == nil {
		problem.New(http.StatusServiceUnavailable, "no gateway is running here: its configuration has no global option "+
			"hiregate, or it is just starting or ending").
			RetryAfter(time.Second).Write(w)
		return
	}
	if a.local {
		w.Header().Set("Server", fmt.Sprintf("hiregate (%s, process %d)", g.Config.PublicURL, os.Getpid()))
	}
	release, ok := g.Hold(w)
	if !ok {
		problem.Unavailable(w)
		return
	}
	defer release()
	req := &request{Request: r, w: w, gateway: g, db: g.Runtime.Store(), log: a.log, route: route, status: route.status}
	err := req.authorize(a.who, route)
	if err == nil && gateway.Encoded(r.Header) {
		err = problem.New(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding").Closing()
	}
	if err == nil && route.place != nil {
		var release func()
		if release, err = route.place(req); err == nil {
			defer release()
		}
	}
	if err == nil && !route.streamed {
		err = req.read(cmp.Or(route.most, maxBody))
	}
	if err == nil && len(req.body) > 0 {
		err = req.authenticateAgain()
	}
	if err == nil && route.bodiless {
		_, err = decodeAny[struct{}](req)
	}
	if err == nil {
		err = req.prepare(route)
	}
	if err != nil {
		req.refuse(err)
		a.report(req, route, false)
		return
	}
	run := func() (any, error) { return route.serve(req) }
	if route.method == http.MethodPost && !route.streamed {
		once := run
		run = func() (any, error) { return req.exactlyOnce(nil, once, route.repeat) }
	}
	a.report(req, route, req.answer(run()))
}

// request is a request to the API. The store is held until it is answered.
type request struct {
	*http.Request
	w       http.ResponseWriter
	gateway *gateway.Gateway
	db      *store.DB
	log     *zap.Logger
	route   route
	caller  caller
	body    []byte // unless the route's is streamed
	query   url.Values
	page    page          // of a list
	tenant  *model.Tenant // that the path names; see scope
	once    *store.Once   // nil: it has no Idempotency-Key
	again   bool          // it was answered before, and nothing was done
	denied  string        // why the key was refused; empty: it was not
	logged  []zap.Field   // what else the log tells
	object  string        // what it changes, in the audit; empty: what its path names

	// Of the answer, when all goes well.
	status   int
	etag     string // see tag
	location string // below the mount of the API
}

// configuredTenant returns the tenant that the path names.
func (r *request) configuredTenant() (*model.Tenant, error) {
	t, ok := r.gateway.Config.Tenant(r.PathValue("tenant"))
	if !ok {
		return nil, noTenant(r.PathValue("tenant"))
	}
	return t, nil
}

// noTenant is returned for unknown tenants and for tenants that the API key may not see.
func noTenant(name string) error {
	if model.ValidateTenantName(name) != nil { // what none can be called is not repeated
		return problem.New(http.StatusNotFound, "there is no tenant of that name")
	}
	return problem.Newf(http.StatusNotFound, "there is no tenant of that name: %s", name)
}

// now is the time as the store keeps it.
func (r *request) now() time.Time { return r.gateway.Now().UTC().Truncate(time.Microsecond) }

// noTemporal is returned when Temporal does not answer, or is not asked.
func (r *request) noTemporal(err error, detail string) error {
	detail = cmp.Or(workflows.Barred(err), detail)
	r.log.Warn("the management API could not ask Temporal", zap.Error(err))
	return problem.New(http.StatusServiceUnavailable, detail).RetryAfter(5 * time.Second)
}

// patience is how long a request may take that asks Temporal.
const patience = 5 * time.Second
