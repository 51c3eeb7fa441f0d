// Package manage is the management API: what operators and their tools ask of a running gateway.
package manage

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/gateway"
)

// API serves the routes below, whatever path it is mounted under; that path is taken off before. It asks nobody who they
// are: whoever mounts it lets in only those who may do everything.
//
// Answers are JSON, errors application/problem+json. Times are RFC 3339 in UTC; one that is not set is left out.
type API struct {
	gateway func() *gateway.Gateway
	log     *zap.Logger
	mux     *http.ServeMux
}

// route is one thing that can be asked for. serve gives what is answered with status, or the problem that is answered instead.
type route struct {
	method, path string
	status       int
	serve        func(*request) (any, *problem.Problem)
}

var routes = []route{
	{http.MethodGet, "/v1/exports", http.StatusOK, (*request).listExports},
	{http.MethodGet, "/v1/tenants/{tenant}/exports", http.StatusOK, (*request).listExports},
	{http.MethodGet, "/v1/tenants/{tenant}/exports/{uuid}", http.StatusOK, (*request).showExport},
	{http.MethodPost, "/v1/tenants/{tenant}/exports/{uuid}/redeliver", http.StatusAccepted, (*request).redeliver},
	{http.MethodPost, "/v1/tenants/{tenant}/exports/{uuid}/release", http.StatusAccepted, (*request).release},
	{http.MethodGet, "/v1/integrations", http.StatusOK, (*request).listIntegrations},
	{http.MethodPost, "/v1/tenants/{tenant}/integrations/{name}/enable", http.StatusAccepted, (*request).enable},
}

// New makes the API of the gateway that is asked for with each request; nil says that none is running.
func New(gateway func() *gateway.Gateway, log *zap.Logger) *API {
	a := &API{gateway: gateway, log: log, mux: http.NewServeMux()}
	allowed := map[string][]string{}
	for _, r := range routes {
		a.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
		allowed[r.path] = append(allowed[r.path], r.method)
		if r.method == http.MethodGet {
			allowed[r.path] = append(allowed[r.path], http.MethodHead)
		}
	}
	for path, methods := range allowed {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		a.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { problem.MethodNotAllowed(w, allow) })
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		problem.New(http.StatusNotFound, "the management API has nothing at this address").Write(w)
	})
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

func (a *API) serve(w http.ResponseWriter, r *http.Request, route route) {
	g := a.gateway()
	if g == nil {
		problem.New(http.StatusServiceUnavailable, "no gateway is running here: its configuration has no global option hiregate, or it is only just starting").
			RetryAfter(time.Second).Write(w)
		return
	}
	release, ok := g.Hold()
	if !ok {
		problem.Unavailable(w)
		return
	}
	defer release()
	answer, p := route.serve(&request{Request: r, w: w, gateway: g, db: g.Runtime.Store(), log: a.log})
	if p != nil {
		p.Write(w)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(route.status)
	json.NewEncoder(w).Encode(answer)
}

// request is a request to the API. The store is held until it is answered.
type request struct {
	*http.Request
	w       http.ResponseWriter
	gateway *gateway.Gateway
	db      *store.DB
	log     *zap.Logger
}

// tenant is the tenant that the path names.
func (r *request) tenant() (*hiring.Tenant, *problem.Problem) {
	t, ok := r.gateway.Config.Tenant(r.PathValue("tenant"))
	if !ok {
		return nil, problem.New(http.StatusNotFound, "the gateway's configuration has no tenant of that name")
	}
	return t, nil
}

// storeAway is the problem of a store that can't be read or written.
func (r *request) storeAway(err error) *problem.Problem {
	if r.Context().Err() == nil {
		r.log.Error("the management API could not use the store", zap.Error(err))
	}
	return problem.New(http.StatusServiceUnavailable, "the gateway can't use its database now: ask again in a moment").RetryAfter(5 * time.Second)
}

// noTemporal is the problem of something that only Temporal can do.
func (r *request) noTemporal(err error, detail string) *problem.Problem {
	r.log.Warn("the management API could not ask Temporal", zap.Error(err))
	return problem.New(http.StatusServiceUnavailable, detail).RetryAfter(5 * time.Second)
}

// patience is how long a request may take that asks Temporal.
const patience = 5 * time.Second
