package manageapi

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
)

func transitionOf(t model.Transition) api.Transition {
	return api.Transition{
		ID: strconv.FormatInt(t.ID, 10), Application: t.Application, Step: t.Status.Step, Name: t.Status.Name,
		Category:  t.Status.Category,
		EnteredAt: t.Status.EnteredAt, Export: t.Export,
	}
}

// transitions are the steps that a job application entered, the last one first.
var transitions = resource[model.Transition]{
	path: anApplication + "/transitions", kind: "transition", reader: model.Viewer, writer: model.Operator,
	data: true, list: listTransitions, view: as(transitionOf), add: enter, repeat: enteredBefore,
}

// enter moves a job application into a step. Where the step has a helper, the candidate is exported in the same
// transaction.
func enter(r *request) (any, error) {
	in, err := decode[api.TransitionInput](r)
	if err != nil {
		return nil, err
	}
	if in.Step == "" {
		return nil, problem.New(http.StatusUnprocessableEntity, `step is missing: name the one to enter, as {"step":"hired"}`)
	}
	a, err := r.application()
	if err != nil {
		return nil, err
	}
	t := r.tenant
	triggered := r.gateway.Trigger()
	configured, err := triggered.ListConfigured(r.Context(), t)
	if err != nil {
		return nil, err
	}
	var done *trigger.Entry
	err = r.write(func(tx *store.Tx) error {
		now, ok, err := tx.JobApplication(t.Name, a.ID)
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.expect(""), noApplication)
		}
		if err := r.expect(tag(&now.Row)); err != nil {
			return err
		}
		if done, err = triggered.EnterStep(tx, t.Name, a.ID, in.Step, configured, r.caller.author()); err != nil {
			return err
		}
		return r.note(tx, pathOf("/v1/tenants", t.Name, "job-applications", a.ID, "transitions",
			strconv.FormatInt(done.Transition.ID, 10)))
	})
	if err != nil {
		return nil, err
	}
	if e := done.Export; e != nil && e.Fault == "" {
		r.gateway.Runtime.Dispatcher.Offer(e)
	}
	return transitionOf(done.Transition), nil
}

// enteredBefore answers the repeat of a request that made a transition.
func enteredBefore(r *request, location string) (any, error) {
	id, err := strconv.ParseInt(location[strings.LastIndexByte(location, '/')+1:], 10, 64)
	if err != nil {
		return nil, err
	}
	a, err := r.application()
	if err != nil {
		return nil, err
	}
	rows, _, err := r.db.ListTransitions(r.Context(), a.Tenant, a.ID, id+1, 1)
	if err == nil && (len(rows) == 0 || rows[0].ID != id) {
		err = errors.New("the transition that a request made is gone")
	}
	if err != nil {
		return nil, err
	}
	return transitionOf(rows[0]), nil
}

func listTransitions(r *request) ([]model.Transition, string, error) {
	before, err := r.page.number()
	if err != nil {
		return nil, "", err
	}
	a, err := r.application()
	if err != nil {
		return nil, "", err
	}
	rows, next, err := r.db.ListTransitions(r.Context(), a.Tenant, a.ID, before, r.page.limit)
	return rows, numbered(next), err
}
