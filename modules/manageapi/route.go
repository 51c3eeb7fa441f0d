package manageapi

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// handler answers a request: with a value that becomes JSON, with nothing, or with an error.
type handler = func(*request) (any, error)

// route is a method and a path of the API. Before serve is called, its query is checked and read, and its tenant is
// looked up.
type route struct {
	method, path string
	role         model.Role // the least that it takes
	status       int        // of the answer, unless serve sets another
	serve        handler
	scope        scope
	query        []string // the parameters it knows
	list         string   // the kind of list that it answers a page of; empty: none
	streamed     bool     // the body is a file, which serve reads by itself
	most         int64    // bytes of the body; 0: maxBody
	// place waits for a place among those whose bodies are in memory at once, before the body is read; nil: it needs none.
	place    func(*request) (release func(), err error)
	bodiless bool   // it takes no body
	personal bool   // it shows personal data: who reads it is in the log
	action   string // in the audit; empty: what recruiting systems write all day, which the log alone has
	// repeat answers a POST whose Idempotency-Key was used before, from what is at the location that was stored with the
	// key. nil: serve answers repeats as well, and does nothing twice.
	repeat func(r *request, location string) (any, error)
}

// scope says whose resources a route is about.
type scope int

const (
	// a configured tenant's, where the path names one; else those of all tenants that the caller sees
	configured scope = iota
	removed          // a tenant's that may not be configured: serve looks it up
	shared           // of no tenant: the caller's API key must open all of them
)

// prepare reads what every route needs: its query, the page that is asked for, and the tenant.
func (r *request) prepare(route route) (err error) {
	if route.list != "" {
		r.query, r.page, err = r.readPage(route.list, route.query)
	} else if !route.streamed {
		r.query, err = r.readQuery(route.query)
	}
	if err != nil || r.PathValue("tenant") == "" && route.scope != shared {
		return err
	}
	switch route.scope {
	case configured:
		if route.method != http.MethodGet { // another node may just have made it
			err = r.refresh()
		}
		if err == nil {
			r.tenant, err = r.configuredTenant()
		}
	case shared:
		if r.caller.tenant != "" {
			return problem.New(http.StatusNotFound,
				"this API key opens one tenant, and this belongs to none: ask with a key that opens all")
		}
	}
	return err
}

// resource is a kind of thing that is listed, shown, made, changed and removed by its id. What is nil is not served.
type resource[T any] struct {
	path     string // of the list
	id       string // the path parameter that names an item
	kind     string // of list
	scope    scope
	reader   model.Role // the least that may read it
	writer   model.Role // the least that may change it
	personal bool
	data     bool     // recruiting systems write it all day: see route.action
	filters  []string // query parameters of the list

	list func(*request) (rows []T, next string, err error)
	find func(*request) (T, error)
	view func(T) any    // an item as it is shown
	tag  func(T) string // its entity tag; nil: it has none
	add  handler        // POST to the list
	put  handler        // PUT
	most int64          // bytes of the body of a PUT; 0: maxBody
	drop handler        // DELETE; it answers 204, or 200 with what it returns
	// repeat answers a repeated POST, see route.
	repeat func(r *request, location string) (any, error)
}

// routes are the routes of the resource.
func (k resource[T]) routes() (all []route) {
	item, add, set := k.path+"/{"+k.id+"}", "add", "set"
	if k.data {
		add, set = "", ""
	}
	if k.list != nil {
		all = append(all, route{method: http.MethodGet, path: k.path, role: k.reader, status: http.StatusOK, scope: k.scope,
			query: k.filters, list: k.kind,
			personal: k.personal, serve: k.listed})
	}
	if k.add != nil {
		all = append(all, route{method: http.MethodPost, path: k.path, role: k.writer, status: http.StatusCreated,
			scope: k.scope, serve: k.add, repeat: k.repeat, action: add})
	}
	if k.find != nil {
		all = append(all, route{method: http.MethodGet, path: item, role: k.reader, status: http.StatusOK, scope: k.scope,
			personal: k.personal, serve: k.shown})
	}
	if k.put != nil {
		all = append(all, route{method: http.MethodPut, path: item, role: k.writer, status: http.StatusOK, scope: k.scope,
			most: k.most, serve: k.put, action: set})
	}
	if k.drop != nil {
		all = append(all, route{method: http.MethodDelete, path: item, role: k.writer, status: http.StatusNoContent,
			scope: k.scope, serve: k.drop, action: "remove"})
	}
	return all
}

func (k resource[T]) listed(r *request) (any, error) {
	rows, next, err := k.list(r)
	if err != nil {
		return nil, err
	}
	return listed(r.page, rows, next, k.view), nil
}

func (k resource[T]) shown(r *request) (any, error) {
	v, err := k.find(r)
	if err != nil {
		return nil, err
	}
	if k.tag != nil {
		r.etag = k.tag(v)
	}
	return k.view(v), nil
}

// change returns a handler that finds what the path names and changes it in a transaction. It shows what do leaves of
// it; without a view it answers nothing.
func change[T any](find func(*request) (T, error), do func(*request, *store.Tx, T) error, view func(T) any) handler {
	return func(r *request) (any, error) {
		v, err := find(r)
		if err == nil {
			err = r.write(func(tx *store.Tx) error { return do(r, tx, v) })
		}
		if err != nil || view == nil {
			return nil, err
		}
		return view(v), nil
	}
}

// write runs fn in a transaction in which the caller's key is still good, and that has the entry of the audit. fn may
// run more than once.
func (r *request) write(fn func(*store.Tx) error) error {
	return r.db.Write(r.Context(), func(tx *store.Tx) error {
		if err := r.checkKey(tx); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		return r.audit(tx)
	})
}

// notFound returns err, or missing where the store found nothing.
func notFound(err error, missing *problem.Problem) error {
	if errors.Is(err, store.ErrNotFound) {
		return missing
	}
	return err
}

// missing reports whether a request names something that is not there.
func missing(err error) bool {
	p := new(problem.Problem)
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// as returns a view for a resource: it gives T as V.
func as[T, V any](view func(T) V) func(T) any { return func(v T) any { return view(v) } }

// itself is the view of a resource that is shown as it is stored.
func itself[T any](v T) any { return v }
