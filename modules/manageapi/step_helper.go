package manageapi

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

var (
	noStep   = problem.New(http.StatusNotFound, "this tenant has no step of that id")
	noHelper = problem.New(http.StatusNotFound, "this step has no helper")
)

// helperTag is the entity tag of a step's helper, which changes with the step; empty: it has none.
func helperTag(s *model.Step) string {
	if s.Helper == nil {
		return ""
	}
	return tag(&s.Row)
}

func showHelper(r *request) (any, error) {
	t := r.tenant
	s, err := r.db.Step(r.Context(), t.Name, r.PathValue("step"))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, noStep
	case err != nil:
		return nil, err
	case s.Helper == nil:
		return nil, noHelper
	}
	r.etag = helperTag(s)
	return api.StepHelper{ID: s.ID, Integrations: s.Helper.Integrations}, nil
}

// putHelper attaches a helper to a step: from then on, each entering exports the candidate.
func putHelper(r *request) (any, error) {
	t := r.tenant
	in, err := decode[api.StepHelper](r)
	if err != nil {
		return nil, err
	}
	if in.ID != "" && in.ID != r.PathValue("step") {
		return nil, problem.New(http.StatusUnprocessableEntity,
			"the body is of another step than the address: leave its id out")
	}
	made := false
	s, err := r.changeStep(t, func(s *model.Step) error {
		after := &model.Helper{Integrations: in.Integrations}
		if err := checkHelper(t, after, s.Helper); err != nil {
			return err
		}
		made = s.Helper == nil
		s.Helper = after
		return invalid(s.Validate())
	})
	if err != nil {
		return nil, err
	}
	if made {
		r.status, r.location = http.StatusCreated, "/v1/tenants/"+t.Name+"/steps/"+s.ID+"/helper"
	}
	r.etag = helperTag(s)
	return api.StepHelper{ID: s.ID, Integrations: s.Helper.Integrations}, nil
}

func deleteHelper(r *request) (any, error) {
	t := r.tenant
	_, err := r.changeStep(t, func(s *model.Step) error {
		if s.Helper == nil {
			return noHelper
		}
		s.Helper = nil
		return nil
	})
	return nil, err
}

// changeStep changes the step that the path names, where its helper is what the request expects.
func (r *request) changeStep(t *model.Tenant, change func(*model.Step) error) (s *model.Step, err error) {
	err = r.write(func(tx *store.Tx) error {
		var ok bool
		var err error
		if s, ok, err = tx.Step(t.Name, r.PathValue("step")); err != nil || !ok {
			return cmp.Or[error](err, noStep)
		}
		if err := r.expect(helperTag(s)); err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
		return tx.UpsertStep(s, r.gateway.Now())
	})
	return s, err
}
