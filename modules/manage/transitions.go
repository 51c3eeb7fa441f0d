package manage

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
)

// transition is one entering of a step by a job application.
type transition struct {
	ID          string    `json:"id"`
	Application string    `json:"jobApplication"`
	Step        string    `json:"step"`
	Name        string    `json:"name"` // and category: the step's at that time
	Category    string    `json:"category,omitempty"`
	EnteredAt   time.Time `json:"enteredAt"`
	Export      string    `json:"export,omitempty"` // UUID of the export that the step's helper triggered
}

func transitionOf(t hiring.Transition) transition {
	return transition{
		ID: strconv.FormatInt(t.ID, 10), Application: t.Application, Step: t.Status.Step, Name: t.Status.Name, Category: t.Status.Category,
		EnteredAt: t.Status.EnteredAt, Export: t.Export,
	}
}

// enter moves a job application into a step. Where the step has a helper, the candidate is exported in the same transaction.
func (r *request) enter() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	in, p := decode[struct {
		Step string `json:"step"`
	}](r)
	if p != nil {
		return nil, p
	}
	if in.Step == "" {
		return nil, problem.New(http.StatusUnprocessableEntity, `step is missing: name the one to enter, as {"step":"hired"}`)
	}
	a, p := r.application()
	if p != nil {
		return nil, p
	}
	if id := r.done(); id != "" {
		return r.entered(a, id)
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	triggered := r.gateway.Trigger()
	configured, err := triggered.Configured(r.Context(), t)
	if err != nil {
		return nil, r.storeAway(err)
	}
	var done *trigger.Entered
	p = r.write(func(tx *store.Tx) error {
		now, ok, err := tx.JobApplication(t.Name, a.ID)
		if err != nil {
			return err
		}
		if !ok {
			return refused{firstOf(r.expect(""), applications.missing())}
		}
		if p := r.expect(tag(&now.Row)); p != nil {
			return refused{p}
		}
		if done, err = triggered.Enter(tx, t.Name, a.ID, in.Step, configured); err != nil {
			return err
		}
		return r.note(tx, strconv.FormatInt(done.Transition.ID, 10))
	})
	if p != nil {
		return nil, p
	}
	if e := done.Export; e != nil && e.Fault == "" {
		r.gateway.Runtime.Dispatcher.Offer(e)
	}
	return transitionOf(done.Transition), nil
}

// entered is a transition that an earlier try of the request made.
func (r *request) entered(a *hiring.JobApplication, id string) (any, *problem.Problem) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, r.storeAway(err)
	}
	rows, _, err := r.db.Transitions(r.Context(), a.Tenant, a.ID, n+1, 1)
	if err == nil && (len(rows) == 0 || rows[0].ID != n) {
		err = errors.New("the transition of a request that was begun is gone")
	}
	if err != nil {
		return nil, r.storeAway(err)
	}
	return transitionOf(rows[0]), nil
}

// listTransitions lists what steps a job application entered, the last one first.
func (r *request) listTransitions() (any, *problem.Problem) {
	_, page, p := r.page("transition")
	if p != nil {
		return nil, p
	}
	before, p := page.number()
	if p != nil {
		return nil, p
	}
	a, p := r.application()
	if p != nil {
		return nil, p
	}
	rows, next, err := r.db.Transitions(r.Context(), a.Tenant, a.ID, before, page.limit)
	if err != nil {
		return nil, r.storeAway(err)
	}
	l := listed(page, rows, "", transitionOf)
	l.Next = page.numbered(next)
	return l, nil
}
