package recruiting

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// TransitionOf returns a transition as the API shows it.
func TransitionOf(t model.Transition) api.Transition {
	return api.Transition{
		ID: strconv.FormatInt(t.ID, 10), Application: t.Application, Step: t.Status.Step, Name: t.Status.Name,
		Category:  t.Status.Category,
		EnteredAt: t.Status.EnteredAt, Export: t.Export,
	}
}

// transitions serves the steps that a job application entered, the last one first.
var transitions = rest.Resource[model.Transition]{
	Path: anApplication + "/transitions", Kind: "transition", Reader: model.Viewer, Writer: model.Operator,
	Data: true, List: listTransitions, View: rest.ViewAs(TransitionOf), Add: enter, Repeat: enteredBefore,
}

// enter moves a job application into a step. Where the step has a helper, the candidate is exported in the same
// transaction.
func enter(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.TransitionInput](r)
	if err != nil {
		return nil, err
	}
	if in.Step == "" {
		return nil, problem.New(http.StatusUnprocessableEntity, `step is missing: name the one to enter, as {"step":"hired"}`)
	}
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	t := r.Tenant
	triggered := r.Gateway.Trigger(r.Request)
	var done *trigger.Entry
	err = r.Update(func(tx *store.Tx) error {
		now, ok, err := tx.JobApplication(t.Name, a.ID)
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.Expect(""), noApplication)
		}
		if err := r.Expect(rest.Tag(&now.Row)); err != nil {
			return err
		}
		if done, err = triggered.EnterStep(tx, t.Name, a.ID, in.Step, r.Caller.Author()); err != nil {
			return err
		}
		return r.Note(tx, rest.PathOf("/v1/tenants", t.Name, "job-applications", a.ID, "transitions",
			strconv.FormatInt(done.Transition.ID, 10)))
	})
	if err != nil {
		return nil, err
	}
	if e := done.Export; e != nil && e.Fault == "" {
		r.Gateway.Runtime.Dispatcher.Offer(e)
	}
	return TransitionOf(done.Transition), nil
}

// enteredBefore answers the repeat of a request that made a transition.
func enteredBefore(r *rest.Request, location string) (any, error) {
	id, err := strconv.ParseInt(location[strings.LastIndexByte(location, '/')+1:], 10, 64)
	if err != nil {
		return nil, err
	}
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	rows, _, err := r.DB.ListTransitions(r.Context(), a.Tenant, a.ID, id+1, 1)
	if err == nil && (len(rows) == 0 || rows[0].ID != id) {
		err = errors.New("the transition that a request made is gone")
	}
	if err != nil {
		return nil, err
	}
	return TransitionOf(rows[0]), nil
}

func listTransitions(r *rest.Request) ([]model.Transition, string, error) {
	before, err := r.Page.Number()
	if err != nil {
		return nil, "", err
	}
	a, err := applicationOf(r)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := r.DB.ListTransitions(r.Context(), a.Tenant, a.ID, before, r.Page.Limit)
	return rows, rest.Numbered(next), err
}
