package schedules

import (
	"errors"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
)

const (
	candidate   = "c-1"
	application = "a-1"
)

var (
	steps = [2]string{"hired", "told"}
	crm   = []string{"crm"}
)

// recruit gives each tenant a candidate with a job application, and two steps that export it. The second one of the tenant
// that has an integration crm names that.
func (w *world) recruit(n *node) error {
	return n.db.Write(n.ctx, func(tx *store.Tx) error {
		now := time.Now()
		for n := range tenants {
			row, second := model.Row{Tenant: fmt.Sprint("t", n)}, &model.Helper{}
			if row.Tenant == both {
				second.Integrations = crm
			}
			err := errors.Join(
				tx.UpsertCandidate(&model.Candidate{Row: row, ID: candidate, Name: model.Name{Given: "Zoë"}}, now),
				tx.UpsertStep(&model.Step{Row: row, ID: steps[0], Name: "Hired", Helper: &model.Helper{}}, now),
				tx.UpsertStep(&model.Step{Row: row, ID: steps[1], Name: "Told", Helper: second}, now),
				tx.UpsertJobApplication(&model.JobApplication{Row: row, ID: application, Candidate: candidate}, now))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// enter has the job application of a tenant enter the other one of its steps, whatever became of the integrations.
func (w *world) enter(n *node, s step) error {
	tenant := fmt.Sprint("t", s.a%tenants)
	c := n.inForce.Current()
	if _, ok := c.Tenant(tenant); !ok {
		return nil // the management API knows no such tenant
	}
	w.mu.Lock()
	to := steps[w.entered[tenant]%2]
	w.entered[tenant]++
	w.mu.Unlock()
	t := &trigger.Trigger{Config: c, Validator: w.validator, Now: time.Now}
	var in *trigger.Entry
	err := n.db.Write(n.ctx, func(tx *store.Tx) (err error) {
		in, err = t.EnterStep(tx, tenant, application, to, model.Author{Actor: "console:1"})
		return err
	})
	if err != nil {
		return err
	}
	e, names := in.Export, []string(nil)
	if tenant == both && to == steps[1] {
		names = crm
	}
	w.mu.Lock()
	w.add(&sent{id: e.ID, tenant: tenant, uuid: e.Key, body: e.Body, triggered: true, to: names})
	w.mu.Unlock()
	n.dispatcher.Offer(e)
	return nil
}
