package manage

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// helper is the workflow helper of a step.
type helper struct {
	ID           string   `json:"id"`           // of the step
	Integrations []string `json:"integrations"` // whom it exports to; empty: every configured integration
}

func noStep() *problem.Problem {
	return problem.New(http.StatusNotFound, "this tenant has no step of that id")
}

func noHelper() *problem.Problem {
	return problem.New(http.StatusNotFound, "this step has no helper")
}

// helperTag is the entity tag of a step's helper, which changes with the step; empty: it has none.
func helperTag(s *hiring.Step) string {
	if s.Helper == nil {
		return ""
	}
	return tag(&s.Row)
}

func (r *request) showHelper() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	s, err := r.db.Step(r.Context(), t.Name, r.PathValue("step"))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, noStep()
	case err != nil:
		return nil, r.storeAway(err)
	case s.Helper == nil:
		return nil, noHelper()
	}
	r.etag = helperTag(s)
	return helper{s.ID, s.Helper.Integrations}, nil
}

// putHelper attaches a helper to a step: from then on, each entering exports the candidate.
func (r *request) putHelper() (any, *problem.Problem) {
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	in, p := decode[helper](r)
	if p != nil {
		return nil, p
	}
	if in.ID != "" && in.ID != r.PathValue("step") {
		return nil, problem.New(http.StatusUnprocessableEntity, "the body is of another step than the address: leave its id out")
	}
	made := false
	s, p := r.changeStep(t, func(s *hiring.Step) *problem.Problem {
		after := &hiring.Helper{Integrations: in.Integrations}
		if p := checkHelper(t, after, s.Helper); p != nil {
			return p
		}
		made = s.Helper == nil
		s.Helper = after
		return invalid(s.Check())
	})
	if p != nil {
		return nil, p
	}
	if made {
		r.status, r.location = http.StatusCreated, "/v1/tenants/"+t.Name+"/steps/"+s.ID+"/helper"
	}
	r.etag = helperTag(s)
	return helper{s.ID, s.Helper.Integrations}, nil
}

func (r *request) deleteHelper() (any, *problem.Problem) {
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	_, p = r.changeStep(t, func(s *hiring.Step) *problem.Problem {
		if s.Helper == nil {
			return noHelper()
		}
		s.Helper = nil
		return nil
	})
	return nil, p
}

// changeStep changes the step that the path names, where its helper is what the request expects.
func (r *request) changeStep(t *hiring.Tenant, change func(*hiring.Step) *problem.Problem) (s *hiring.Step, p *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	p = r.write(func(tx *store.Tx) error {
		var ok bool
		var err error
		if s, ok, err = tx.Step(t.Name, r.PathValue("step")); err != nil || !ok {
			return refuse(noStep(), err)
		}
		if p := r.expect(helperTag(s)); p != nil {
			return refused{p}
		}
		if p := change(s); p != nil {
			return refused{p}
		}
		return tx.PutStep(s, r.gateway.Now())
	})
	return s, p
}
