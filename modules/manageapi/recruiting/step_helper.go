package recruiting

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var (
	noStep   = problem.New(http.StatusNotFound, "this tenant has no step of that id")
	noHelper = problem.New(http.StatusNotFound, "this step has no helper")
)

// helperTag returns the entity tag of a step's helper, which changes with the step; empty: it has none.
func helperTag(s *model.Step) string {
	if s.Helper == nil {
		return ""
	}
	return rest.Tag(&s.Row)
}

func showHelper(r *rest.Request) (any, error) {
	t := r.Tenant
	s, err := r.DB.Step(r.Context(), t.Name, r.PathValue("step"))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, noStep
	case err != nil:
		return nil, err
	case s.Helper == nil:
		return nil, noHelper
	}
	r.ETag = helperTag(s)
	return api.StepHelper{ID: s.ID, Integrations: s.Helper.Integrations}, nil
}

// checkHelperRights refuses a person who does not administer what a helper exports to: it exports each candidate who
// comes to its step from then on. An API key needs only the role of the route.
func checkHelperRights(c rest.Caller) error {
	if c.Person && !c.Role.May(model.Admin) {
		return problem.New(http.StatusForbidden, "a helper exports each candidate who comes to its step, so only "+
			"administrators change, add or remove one, and a step that has one: ask an administrator")
	}
	return nil
}

// putHelper attaches a helper to a step: from then on, each entering exports the candidate.
func putHelper(r *rest.Request) (any, error) {
	t := r.Tenant
	if err := checkHelperRights(r.Caller); err != nil {
		return nil, err
	}
	in, err := rest.Decode[api.StepHelper](r)
	if err != nil {
		return nil, err
	}
	if in.ID != "" && in.ID != r.PathValue("step") {
		return nil, problem.New(http.StatusUnprocessableEntity,
			"the body is of another step than the address: leave its id out")
	}
	made := false
	s, err := changeStep(r, t, func(s *model.Step) error {
		after := &model.Helper{Integrations: in.Integrations}
		if err := checkHelper(t, after, s.Helper); err != nil {
			return err
		}
		made = s.Helper == nil
		s.Helper = after
		return rest.Invalid(s.Validate())
	})
	if err != nil {
		return nil, err
	}
	if made {
		r.Status, r.Location = http.StatusCreated, "/v1/tenants/"+t.Name+"/steps/"+s.ID+"/helper"
	}
	r.ETag = helperTag(s)
	return api.StepHelper{ID: s.ID, Integrations: s.Helper.Integrations}, nil
}

func deleteHelper(r *rest.Request) (any, error) {
	t := r.Tenant
	if err := checkHelperRights(r.Caller); err != nil {
		return nil, err
	}
	_, err := changeStep(r, t, func(s *model.Step) error {
		if s.Helper == nil {
			return noHelper
		}
		s.Helper = nil
		return nil
	})
	return nil, err
}

// changeStep changes the step that the path names, if its helper is the one that the request expects.
func changeStep(r *rest.Request, t *model.Tenant, change func(*model.Step) error) (s *model.Step, err error) {
	err = r.Update(func(tx *store.Tx) error {
		var ok bool
		var err error
		if s, ok, err = tx.Step(t.Name, r.PathValue("step")); err != nil || !ok {
			return cmp.Or[error](err, noStep)
		}
		if err := r.Expect(helperTag(s)); err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
		return tx.UpsertStep(s, r.Gateway.Now())
	})
	return s, err
}
