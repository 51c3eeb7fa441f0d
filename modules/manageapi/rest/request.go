package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// Request is a request to the API. It holds the store until it is answered.
type Request struct {
	*http.Request
	Writer  http.ResponseWriter
	Gateway *gateway.Gateway
	DB      *store.DB
	Log     *zap.Logger
	Caller  Caller
	Content []byte // the whole body, unless the route is streamed
	Query   url.Values
	Page    Page          // of a list
	Tenant  *model.Tenant // that the path names; see Scope
	Logged  []zap.Field   // more fields for the log entry of the request
	Object  string        // what it changes, in the audit; empty: what its path names
	Detail  string        // a sentence for the entry in the audit

	route  Route
	once   *store.Once // nil: it has no Idempotency-Key
	again  bool        // it was answered before, and nothing was done
	denied string      // why the key was refused; empty: it was not

	// Of the answer, when all goes well.
	Status   int
	ETag     string // see Tag
	Location string // below the mount of the API
}

// ConfiguredTenant returns the tenant that the path names.
func (r *Request) ConfiguredTenant() (*model.Tenant, error) {
	t, ok := r.Gateway.Config.Tenant(r.PathValue("tenant"))
	if !ok {
		return nil, NoTenant(r.PathValue("tenant"))
	}
	return t, nil
}

// NoTenant is returned for unknown tenants and for tenants that the API key may not see.
func NoTenant(name string) error {
	if model.ValidateTenantName(name) != nil { // what none can be called is not repeated
		return problem.New(http.StatusNotFound, "there is no tenant of that name")
	}
	return problem.Newf(http.StatusNotFound, "there is no tenant of that name: %s", name)
}

// Now returns the time as the store keeps it: in UTC, to the microsecond.
func (r *Request) Now() time.Time { return r.Gateway.Now().UTC().Truncate(time.Microsecond) }

// Since reads the query parameter since; without it, it is a time before now.
func (r *Request) Since(before time.Duration) (time.Time, error) {
	since, err := Instant(r.Query, "since")
	if since.IsZero() {
		since = r.Now().Add(-before)
	}
	return since, err
}

// NoTemporal returns the problem (503) of a request that Temporal does not answer, or that Temporal is not asked for.
func (r *Request) NoTemporal(err error, detail string) error {
	detail = cmp.Or(workflows.Barred(err), detail)
	r.Log.Warn("the management API could not ask Temporal", zap.Error(err))
	return problem.New(http.StatusServiceUnavailable, detail).RetryAfter(5 * time.Second)
}

// Patience is the time limit of a request that asks Temporal.
const Patience = 5 * time.Second
