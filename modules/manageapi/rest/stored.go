package rest

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

// InTenant is the path of a tenant.
const InTenant = "/v1/tenants/{tenant}"

// Stored is a resource of which each tenant has any number, stored as JSON with a version: see Resource.
type Stored[T any] struct {
	Word     string // for people
	Path     string // below the path of the tenant
	List     string // the kind of list
	Personal bool
	Filters  []string
	MaxBody  int64 // bytes of a body; 0: 1 MiB
	Missing  *problem.Problem

	Rows       func(*Request) ([]*T, string, error)
	Page       Handler // in the place of Rows: see Resource
	PageAction string
	ID         func(*T) *string
	Row        func(*T) *model.Row
	Get        func(*store.DB, context.Context, string, string) (*T, error)
	Find       func(*store.Tx, string, string) (*T, bool, error)
	Put        func(*store.Tx, *T, time.Time) error
	Remove     func(*store.Tx, *T) error
	Check      func(*T) error

	// Settle completes what is put from what is there, and says why it can't be put; before is nil where there is none
	// yet. It may run more than once for the same resource.
	Settle func(tx *store.Tx, v, before *T) error
	// Enter returns what enters the deletion of a resource in the list of erasures, last in the transaction. Nil: it is not
	// entered.
	Enter func(r *Request, id string) func(*store.Tx) error
	// Clear removes what belongs to a resource that has just been deleted, and says why it must not be.
	Clear func(tx *store.Tx, v *T, now time.Time) error
}

// Routes returns the routes of the resource.
func (k Stored[T]) Routes() []Route {
	return Resource[*T]{
		Path: InTenant + "/" + k.Path, ID: "id", Kind: k.List, Reader: model.Viewer, Writer: model.Operator,
		Personal: k.Personal, Data: true, Filters: k.Filters,
		List: k.Rows, Page: k.Page, PageAction: k.PageAction, Find: k.Named, View: Identity[*T],
		Tag: func(v *T) string { return Tag(k.Row(v)) }, Put: k.save, Patch: k.patch, MaxBody: k.MaxBody, Drop: k.drop,
	}.Routes()
}

// Named returns the resource that the path names.
func (k Stored[T]) Named(r *Request) (*T, error) {
	v, err := k.Get(r.DB, r.Context(), r.Tenant.Name, r.PathValue("id"))
	return v, NotFound(err, k.Missing)
}

// save makes a resource, or puts another in its place. What the store keeps beside it is ignored in the body.
func (k Stored[T]) save(r *Request) (any, error) {
	in, err := Decode[T](r)
	if err != nil {
		return nil, err
	}
	if err := k.check(r, &in); err != nil {
		return nil, err
	}
	return k.put(r, func(*T) (T, error) { return in, nil })
}

// patch changes members of a resource (JSON Merge Patch, RFC 7396), and leaves the others as they are.
func (k Stored[T]) patch(r *Request) (any, error) {
	changes, err := mergePatchOf(r)
	if err != nil {
		return nil, err
	}
	return k.put(r, func(before *T) (v T, err error) {
		if before == nil {
			return v, k.Missing
		}
		if err := patched(&v, before, changes); err != nil {
			return v, err
		}
		return v, k.check(r, &v)
	})
}

// check gives a resource the id of the address, and checks it.
func (k Stored[T]) check(r *Request, v *T) error {
	id := r.PathValue("id")
	if given := *k.ID(v); given != "" && given != id {
		return problem.Newf(http.StatusUnprocessableEntity,
			"the body is of another %s than the address: leave its id out, or send it to its own address", k.Word)
	}
	*k.ID(v) = id
	return Invalid(k.Check(v))
}

// put stores what is made of the resource that is there; of nil, where there is none.
func (k Stored[T]) put(r *Request, made func(before *T) (T, error)) (any, error) {
	id := r.PathValue("id")
	var saved T
	err := r.Update(func(tx *store.Tx) error {
		before, ok, err := k.Find(tx, r.Tenant.Name, id)
		if err != nil {
			return err
		}
		row := model.Row{Tenant: r.Tenant.Name}
		if ok {
			row = *k.Row(before)
		} else {
			before = nil
		}
		if err := r.Expect(Tag(&row)); err != nil {
			return err
		}
		v, err := made(before)
		if err != nil {
			return err
		}
		*k.Row(&v) = row
		if k.Settle != nil {
			if err := k.Settle(tx, &v, before); err != nil {
				return err
			}
		}
		saved = v
		return k.Put(tx, &saved, r.Gateway.Now())
	})
	if err != nil {
		return nil, err
	}
	if k.Row(&saved).Version == 1 {
		r.Created("/v1/tenants", r.Tenant.Name, k.Path, id)
	}
	r.ETag = Tag(k.Row(&saved))
	return &saved, nil
}

func (k Stored[T]) drop(r *Request) (any, error) {
	enter := func(*store.Tx) error { return nil }
	if k.Enter != nil {
		enter = k.Enter(r, r.PathValue("id"))
	}
	return nil, r.Update(func(tx *store.Tx) error {
		v, ok, err := k.Find(tx, r.Tenant.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.Expect(""), k.Missing)
		}
		if err := r.Expect(Tag(k.Row(v))); err != nil {
			return err
		}
		if err := k.Remove(tx, v); err != nil {
			return err
		}
		if k.Clear != nil {
			// Only now: the deletion waited for those on other nodes who were adding something to the resource.
			if err := k.Clear(tx, v, r.Gateway.Now()); err != nil {
				return err
			}
		}
		return enter(tx)
	})
}

// Created has the answer say what was made, by the segments of its path.
func (r *Request) Created(list string, segments ...string) {
	r.Status, r.Location = http.StatusCreated, PathOf(list, segments...)
}

// PathOf returns the path of a resource below the mount of the API.
func PathOf(list string, segments ...string) string {
	for _, segment := range segments {
		list += "/" + url.PathEscape(segment)
	}
	return list
}
