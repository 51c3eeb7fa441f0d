package manageapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// kind is a resource of which each tenant has any number, stored as JSON with a version: see resource.
type kind[T any] struct {
	word     string // for people
	path     string // below the tenant
	list     string // the kind of list
	personal bool
	filters  []string
	most     int64 // bytes of a body; 0: maxBody
	missing  *problem.Problem

	rows   func(*request) ([]*T, string, error)
	id     func(*T) *string
	row    func(*T) *model.Row
	get    func(*store.DB, context.Context, string, string) (*T, error)
	find   func(*store.Tx, string, string) (*T, bool, error)
	put    func(*store.Tx, *T, time.Time) error
	remove func(*store.Tx, *T) error
	check  func(*T) error

	// settle completes what is put from what is there, and says why it can't be put; before is nil where there is none
	// yet. It may run more than once for the same resource.
	settle func(tx *store.Tx, v, before *T) error
	// clear removes what belongs to a resource that has just been deleted, and says why it must not be.
	clear func(tx *store.Tx, v *T, now time.Time) error
}

func (k kind[T]) routes() []route {
	return resource[*T]{
		path: inTenant + "/" + k.path, id: "id", kind: k.list, reader: model.Viewer, writer: model.Operator,
		personal: k.personal, data: true, filters: k.filters,
		list: k.rows, find: k.named, view: itself[*T], tag: func(v *T) string { return tag(k.row(v)) }, put: k.save,
		most: k.most, drop: k.drop,
	}.routes()
}

// named returns the resource that the path names.
func (k kind[T]) named(r *request) (*T, error) {
	v, err := k.get(r.db, r.Context(), r.tenant.Name, r.PathValue("id"))
	return v, notFound(err, k.missing)
}

// save makes a resource, or puts another in its place. What the store keeps beside it is ignored in the body.
func (k kind[T]) save(r *request) (any, error) {
	in, err := decode[T](r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if given := *k.id(&in); given != "" && given != id {
		return nil, problem.Newf(http.StatusUnprocessableEntity,
			"the body is of another %s than the address: leave its id out, or send it to its own address", k.word)
	}
	*k.id(&in) = id
	if err := invalid(k.check(&in)); err != nil {
		return nil, err
	}
	var saved T
	err = r.write(func(tx *store.Tx) error {
		v := in
		before, ok, err := k.find(tx, r.tenant.Name, id)
		if err != nil {
			return err
		}
		*k.row(&v) = model.Row{Tenant: r.tenant.Name}
		if ok {
			*k.row(&v) = *k.row(before)
		}
		if err := r.expect(tag(k.row(&v))); err != nil {
			return err
		}
		if k.settle != nil {
			if err := k.settle(tx, &v, before); err != nil {
				return err
			}
		}
		saved = v
		return k.put(tx, &saved, r.gateway.Now())
	})
	if err != nil {
		return nil, err
	}
	if k.row(&saved).Version == 1 {
		r.created("/v1/tenants", r.tenant.Name, k.path, id)
	}
	r.etag = tag(k.row(&saved))
	return &saved, nil
}

func (k kind[T]) drop(r *request) (any, error) {
	return nil, r.write(func(tx *store.Tx) error {
		v, ok, err := k.find(tx, r.tenant.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.expect(""), k.missing)
		}
		if err := r.expect(tag(k.row(v))); err != nil {
			return err
		}
		if err := k.remove(tx, v); err != nil || k.clear == nil {
			return err
		}
		// Only now: the deletion waited for those on other nodes who were adding something to the resource.
		return k.clear(tx, v, r.gateway.Now())
	})
}

// created has the answer say what was made, by the segments of its path.
func (r *request) created(list string, segments ...string) {
	r.status, r.location = http.StatusCreated, pathOf(list, segments...)
}

// pathOf returns the path of a resource below the mount of the API.
func pathOf(list string, segments ...string) string {
	for _, segment := range segments {
		list += "/" + url.PathEscape(segment)
	}
	return list
}
