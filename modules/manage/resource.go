package manage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
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
	settle func(tx *store.Tx, v, before *T) (*problem.Problem, error)
	// clear removes what belongs to a resource that has just been deleted, and says why it must not be.
	clear func(tx *store.Tx, v *T, now time.Time) (*problem.Problem, error)
}

func (k kind[T]) missing() *problem.Problem {
	return problem.New(http.StatusNotFound, "this tenant has no "+k.word+" of that id")
}

func (k kind[T]) show(r *request) (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	v, err := k.get(r.db, r.Context(), t.Name, r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, k.missing()
	}
	if err != nil {
		return nil, r.storeAway(err)
	}
	r.etag = tag(k.row(v))
	return v, nil
}

// save makes a resource, or puts another in its place. What the store keeps beside it is ignored in the body.
func (k kind[T]) save(r *request) (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	in, p := decode[T](r)
	if p != nil {
		return nil, p
	}
	id := r.PathValue("id")
	if given := *k.id(&in); given != "" && given != id {
		return nil, problem.New(http.StatusUnprocessableEntity, fmt.Sprintf("the body is of another %s than the address: leave its id out, or send it to its own address", k.word))
	}
	*k.id(&in) = id
	if p := invalid(k.check(&in)); p != nil {
		return nil, p
	}
	var saved T
	p = r.write(func(tx *store.Tx) error {
		v := in
		before, ok, err := k.find(tx, t.Name, id)
		if err != nil {
			return err
		}
		*k.row(&v) = hiring.Row{Tenant: t.Name}
		if ok {
			*k.row(&v) = *k.row(before)
		}
		if p := r.expect(tag(k.row(&v))); p != nil {
			return refused{p}
		}
		if k.settle != nil {
			if p, err := k.settle(tx, &v, before); p != nil || err != nil {
				return refuse(p, err)
			}
		}
		saved = v
		return k.put(tx, &saved, r.gateway.Now())
	})
	if p != nil {
		return nil, p
	}
	if k.row(&saved).Version == 1 {
		r.status, r.location = http.StatusCreated, "/v1/tenants/"+t.Name+"/"+k.path+"/"+url.PathEscape(id)
	}
	r.etag = tag(k.row(&saved))
	return &saved, nil
}

func (k kind[T]) drop(r *request) (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	return nil, r.write(func(tx *store.Tx) error {
		v, ok, err := k.find(tx, t.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		if !ok {
			return refuse(firstOf(r.expect(""), k.missing()), nil)
		}
		if p := r.expect(tag(k.row(v))); p != nil {
			return refused{p}
		}
		if err := k.remove(tx, v); err != nil || k.clear == nil {
			return err
		}
		// Only now: the deletion waited for those on other nodes who were adding something to the resource.
		if p, err := k.clear(tx, v, r.gateway.Now()); p != nil || err != nil {
			return refuse(p, err)
		}
		return nil
	})
}

// firstOf is the first problem that is one.
func firstOf(all ...*problem.Problem) *problem.Problem {
	for _, p := range all {
		if p != nil {
			return p
		}
	}
	return nil
}

// refused is a problem that ends a transaction.
type refused struct{ *problem.Problem }

func (r refused) Error() string { return r.Detail }

func refuse(p *problem.Problem, err error) error {
	if err != nil {
		return err
	}
	return refused{p}
}

// write runs fn in a transaction in which the caller's key is still good, and makes a problem of why that failed. fn may run more than
// once.
func (r *request) write(fn func(*store.Tx) error) *problem.Problem {
	err := r.db.Write(r.Context(), func(tx *store.Tx) error {
		if err := r.vouch(tx); err != nil {
			return err
		}
		return fn(tx)
	})
	var (
		p         refused
		triggered *trigger.RefusedError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p.Problem
	case errors.As(err, &triggered) && triggered.Ambiguous:
		return problem.New(http.StatusUnprocessableEntity, triggered.Reason)
	case errors.As(err, &triggered):
		return problem.New(http.StatusConflict, triggered.Reason)
	case errors.Is(err, trigger.ErrNoSuch):
		_, sentence, _ := strings.Cut(err.Error(), ": ")
		return problem.New(http.StatusNotFound, sentence)
	case errors.Is(err, store.ErrStale) && r.conditional():
		return problem.New(http.StatusPreconditionFailed, "somebody else changed it at the same moment: read it again, and send the ETag of that answer as If-Match")
	case errors.Is(err, store.ErrStale), errors.Is(err, store.ErrLeaseLost):
		return problem.New(http.StatusConflict, "somebody else changed it at the same moment: read it again, and try again")
	case errors.Is(err, store.ErrTaken):
		return problem.New(http.StatusConflict, "its id belongs to another one of this tenant: choose another")
	}
	if errors.Is(err, store.ErrUnavailable) || r.Context().Err() != nil {
		return r.storeAway(err)
	}
	r.log.Error("the management API could not do what was asked", zap.String("path", r.Pattern), zap.Error(err))
	return problem.New(http.StatusInternalServerError, "the gateway could not do this, and nothing was done: look at its log")
}
