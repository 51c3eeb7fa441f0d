package rest

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// Handler answers a request: with a value that becomes JSON, with nothing, or with an error.
type Handler = func(*Request) (any, error)

// Route is a method and a path of the API. Before Serve is called, its query is checked and read, and its tenant is
// looked up.
type Route struct {
	Method, Path string
	Role         model.Role // the least that it takes
	Status       int        // of the answer, unless Serve sets another
	Serve        Handler
	Scope        Scope
	Query        []string // the parameters it knows
	List         string   // the kind of list that it answers a page of; empty: none
	Streamed     bool     // the body is a file, which Serve reads by itself
	MaxBody      int64    // bytes of the body; 0: 1 MiB
	// Place waits for a place among those whose bodies are in memory at once, before the body is read; nil: it needs none.
	Place    func(*Request) (release func(), err error)
	Bodiless bool // it takes no body
	Personal bool // it shows personal data: the log says who reads it
	// Thing and Verb are the message of the log, such as "integration" and "disabled".
	Thing, Verb string
	Action      string // in the audit; empty: what recruiting systems write all day, which only the log has
	// Repeat answers a POST whose Idempotency-Key was used before, from what is at the location that was stored with the
	// key. nil: Serve answers repeats as well, and does nothing twice.
	Repeat func(r *Request, location string) (any, error)
}

// Scope says whose resources a route is about.
type Scope int

const (
	// Configured is a configured tenant, where the path names one; otherwise all tenants that the caller sees.
	Configured Scope = iota
	// Removed is a tenant that may not be configured: Serve looks it up.
	Removed
	// Shared is no tenant: the caller's API key must open all of them.
	Shared
)

// prepare reads what every route needs: its query, the page that is asked for, and the tenant.
func (r *Request) prepare(route Route) (err error) {
	if route.List != "" {
		r.Query, r.Page, err = r.readPage(route.List, route.Query)
	} else if !route.Streamed {
		r.Query, err = r.readQuery(route.Query)
	}
	if err != nil || r.PathValue("tenant") == "" && route.Scope != Shared {
		return err
	}
	switch route.Scope {
	case Configured:
		if route.Method != http.MethodGet { // another node may just have made it
			err = r.Refresh()
		}
		if err == nil {
			r.Tenant, err = r.ConfiguredTenant()
		}
	case Shared:
		if r.Caller.Tenant != "" {
			return problem.New(http.StatusNotFound,
				"this API key opens one tenant, and this belongs to none: ask with a key that opens all")
		}
	}
	return err
}

// Resource is a kind of thing that is listed, shown, made, changed and removed by its id. What is nil is not served.
type Resource[T any] struct {
	Path     string // of the list
	ID       string // the path parameter that names an item
	Kind     string // of list
	Scope    Scope
	Reader   model.Role // the least that may read it
	Writer   model.Role // the least that may change it
	Personal bool
	Data     bool     // recruiting systems write it all day: see Route.Action
	Filters  []string // query parameters of the list

	List       func(*Request) (rows []T, next string, err error)
	Page       Handler // answers the list, where a page has more than rows; nil: List does
	PageAction string  // in the audit, of pages that Page has entered there
	Find       func(*Request) (T, error)
	View       func(T) any    // an item as it is shown
	Tag        func(T) string // its entity tag; nil: it has none
	Add        Handler        // POST to the list
	Put        Handler        // PUT
	Patch      Handler        // PATCH
	MaxBody    int64          // bytes of the body of a PUT or PATCH; 0: 1 MiB
	Drop       Handler        // DELETE; it answers 204, or 200 with what it returns
	// Repeat answers a repeated POST, see Route.
	Repeat func(r *Request, location string) (any, error)
}

// Routes returns the routes of the resource.
func (k Resource[T]) Routes() (all []Route) {
	item, add, set := k.Path+"/{"+k.ID+"}", "add", "set"
	if k.Data {
		add, set = "", ""
	}
	page := k.Page
	if page == nil && k.List != nil {
		page = k.listed
	}
	if page != nil {
		all = append(all, Route{Method: http.MethodGet, Path: k.Path, Role: k.Reader, Status: http.StatusOK, Scope: k.Scope,
			Query: k.Filters, List: k.Kind, Action: k.PageAction,
			Personal: k.Personal, Serve: page})
	}
	if k.Add != nil {
		all = append(all, Route{Method: http.MethodPost, Path: k.Path, Role: k.Writer, Status: http.StatusCreated,
			Scope: k.Scope, Serve: k.Add, Repeat: k.Repeat, Action: add})
	}
	if k.Find != nil {
		all = append(all, Route{Method: http.MethodGet, Path: item, Role: k.Reader, Status: http.StatusOK, Scope: k.Scope,
			Personal: k.Personal, Serve: k.shown})
	}
	if k.Put != nil {
		all = append(all, Route{Method: http.MethodPut, Path: item, Role: k.Writer, Status: http.StatusOK, Scope: k.Scope,
			MaxBody: k.MaxBody, Serve: k.Put, Action: set})
	}
	if k.Patch != nil {
		all = append(all, Route{Method: http.MethodPatch, Path: item, Role: k.Writer, Status: http.StatusOK, Scope: k.Scope,
			MaxBody: k.MaxBody, Serve: k.Patch, Action: set})
	}
	if k.Drop != nil {
		all = append(all, Route{Method: http.MethodDelete, Path: item, Role: k.Writer, Status: http.StatusNoContent,
			Scope: k.Scope, Serve: k.Drop, Action: "remove"})
	}
	return all
}

func (k Resource[T]) listed(r *Request) (any, error) {
	rows, next, err := k.List(r)
	if err != nil {
		return nil, err
	}
	return Listed(r.Page, rows, next, k.View), nil
}

func (k Resource[T]) shown(r *Request) (any, error) {
	v, err := k.Find(r)
	if err != nil {
		return nil, err
	}
	if k.Tag != nil {
		r.ETag = k.Tag(v)
	}
	return k.View(v), nil
}

// Change returns a handler that finds what the path names and changes it in a transaction. It answers the view of the
// result; without a view, nothing.
func Change[T any](find func(*Request) (T, error), do func(*Request, *store.Tx, T) error, view func(T) any) Handler {
	return func(r *Request) (any, error) {
		v, err := find(r)
		if err == nil {
			err = r.Update(func(tx *store.Tx) error { return do(r, tx, v) })
		}
		if err != nil || view == nil {
			return nil, err
		}
		return view(v), nil
	}
}

// Update runs fn in a transaction that checks the key of the caller and has the entry of the audit. fn may run more
// than once.
func (r *Request) Update(fn func(*store.Tx) error) error {
	return r.DB.Write(r.Context(), func(tx *store.Tx) error {
		if err := r.checkKey(tx); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		return r.Audit(tx)
	})
}

// NotFound returns err, or missing where the store found nothing.
func NotFound(err error, missing *problem.Problem) error {
	if errors.Is(err, store.ErrNotFound) {
		return missing
	}
	return err
}

// IsNotFound reports whether an error is the problem of a request that names something that is not there.
func IsNotFound(err error) bool {
	p := new(problem.Problem)
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// ViewAs returns a view for a resource: it shows T as V.
func ViewAs[T, V any](view func(T) V) func(T) any { return func(v T) any { return view(v) } }

// Identity is the view of a resource that is shown as it is stored.
func Identity[T any](v T) any { return v }

// Refresh reads the tenants and integrations again, if they changed.
func (r *Request) Refresh() error {
	if err := r.Gateway.Runtime.Directory.Refresh(r.Context()); err != nil {
		return err
	}
	return nil
}
