package manage

import (
	"cmp"
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
func (r *request) enter() (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	in, err := decode[struct {
		Step string `json:"step"`
	}](r)
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
	if id := r.done(); id != "" {
		return r.entered(a, id)
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	triggered := r.gateway.Trigger()
	configured, err := triggered.Configured(r.Context(), t)
	if err != nil {
		return nil, err
	}
	var done *trigger.Entered
	err = r.write(func(tx *store.Tx) error {
		now, ok, err := tx.JobApplication(t.Name, a.ID)
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or(r.expect(""), applications.missing())
		}
		if err := r.expect(tag(&now.Row)); err != nil {
			return err
		}
		if done, err = triggered.Enter(tx, t.Name, a.ID, in.Step, configured); err != nil {
			return err
		}
		return r.note(tx, strconv.FormatInt(done.Transition.ID, 10))
	})
	if err != nil {
		return nil, err
	}
	if e := done.Export; e != nil && e.Fault == "" {
		r.gateway.Runtime.Dispatcher.Offer(e)
	}
	return transitionOf(done.Transition), nil
}

// entered is a transition that an earlier try of the request made.
func (r *request) entered(a *hiring.JobApplication, id string) (any, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, err
	}
	rows, _, err := r.db.Transitions(r.Context(), a.Tenant, a.ID, n+1, 1)
	if err == nil && (len(rows) == 0 || rows[0].ID != n) {
		err = errors.New("the transition of a request that was begun is gone")
	}
	if err != nil {
		return nil, err
	}
	return transitionOf(rows[0]), nil
}

// listTransitions lists what steps a job application entered, the last one first.
func (r *request) listTransitions() (any, error) {
	_, page, err := r.page("transition")
	if err != nil {
		return nil, err
	}
	before, err := page.number()
	if err != nil {
		return nil, err
	}
	a, err := r.application()
	if err != nil {
		return nil, err
	}
	rows, next, err := r.db.Transitions(r.Context(), a.Tenant, a.ID, before, page.limit)
	if err != nil {
		return nil, err
	}
	l := listed(page, rows, "", transitionOf)
	l.Next = page.numbered(next)
	return l, nil
}
