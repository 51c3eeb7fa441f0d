package manage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// kind is a kind of resource that each tenant has any number of: shown, put and deleted by id, in a version that the asker may
// name.
type kind[T any] struct {
	word string // for people
	path string // below the tenant, with the path's parameter for the id behind it
	id   func(*T) *string
	row  func(*T) *hiring.Row

	get    func(*store.DB, context.Context, string, string) (*T, error)
	find   func(*store.Tx, string, string) (*T, bool, error)
	put    func(*store.Tx, *T, time.Time) error
	remove func(*store.Tx, *T) error
	check  func(*T) error

	// settle completes what is put from what is there, and says why it can't be put; before is nil where there is none yet. It may
	// run more than once for the same resource.
	settle func(tx *store.Tx, v, before *T) error
	// clear removes what belongs to a resource that has just been deleted, and says why it must not be.
	clear func(tx *store.Tx, v *T, now time.Time) error
}

func (k kind[T]) missing() error {
	return problem.New(http.StatusNotFound, "this tenant has no "+k.word+" of that id")
}

func (k kind[T]) show(r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	v, err := k.get(r.db, r.Context(), t.Name, r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, k.missing()
	}
	if err != nil {
		return nil, err
	}
	r.etag = tag(k.row(v))
	return v, nil
}

// save makes a resource, or puts another in its place. What the store keeps beside it is ignored in the body.
func (k kind[T]) save(r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	in, err := decode[T](r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if given := *k.id(&in); given != "" && given != id {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "the body is of another %s than the address: leave its id out, or send it to its own address", k.word)
	}
	*k.id(&in) = id
	if err := invalid(k.check(&in)); err != nil {
		return nil, err
	}
	var saved T
	err = r.write(func(tx *store.Tx) error {
		v := in
		before, ok, err := k.find(tx, t.Name, id)
		if err != nil {
			return err
		}
		*k.row(&v) = hiring.Row{Tenant: t.Name}
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
		r.status, r.location = http.StatusCreated, "/v1/tenants/"+t.Name+"/"+k.path+"/"+url.PathEscape(id)
	}
	r.etag = tag(k.row(&saved))
	return &saved, nil
}

func (k kind[T]) drop(r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error {
		v, ok, err := k.find(tx, t.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or(r.expect(""), k.missing())
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

// write runs fn in a transaction in which the caller's key is still good. fn may run more than once.
func (r *request) write(fn func(*store.Tx) error) error {
	return r.db.Write(r.Context(), func(tx *store.Tx) error {
		if err := r.vouch(tx); err != nil {
			return err
		}
		return fn(tx)
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
