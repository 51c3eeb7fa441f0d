package trigger

import (
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Entry is the result of entering a step.
type Entry struct {
	Application *model.JobApplication
	Transition  model.Transition
	Export      *model.Export // that the step's helper triggered; nil: the step has none
}

// EnterStep moves a job application into a step. When the step has a helper, the candidate is exported in the same
// transaction: to the integrations that the helper names, of which some may be gone since, or to all of the tenant's. If
// there is none, the export is stored with that fault; either way the audit has who did it. As with Export, it may run
// more than once, and the export is offered to the dispatcher after the commit.
//
// Errors: ErrNotFound, *RefusedError when the application has ended or is in that step already, and those of the store.
func (t *Trigger) EnterStep(tx *store.Tx, tenant, application, step string, by model.Author) (*Entry, error) {
	a, ok, err := tx.JobApplication(tenant, application)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: the tenant has no job application of that id", ErrNotFound)
	}
	s, ok, err := tx.Step(tenant, step)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: the tenant has no step of that id", ErrNotFound)
	}
	if a.VersionOf != "" {
		return nil, &RefusedError{Reason: "it is a further version of the job application " + a.VersionOf + ": move that one"}
	}
	if a.Ended != nil {
		return nil, &RefusedError{Reason: "the job application has ended: reopen it first"}
	}
	if a.Status.Step == s.ID {
		return nil, &RefusedError{Reason: "the job application is in that step already"}
	}
	now := t.Now().UTC().Truncate(time.Microsecond)
	a.Status = model.Status{Step: s.ID, Name: s.Name, Category: s.Category, EnteredAt: now}
	if err := tx.UpsertJobApplication(a, now); err != nil {
		return nil, err
	}
	in := &Entry{Application: a, Transition: model.Transition{ID: model.NewID(now), Tenant: tenant, Application: a.ID,
		Status: a.Status}}
	if s.Helper != nil {
		if in.Export, err = t.help(tx, a, s); err != nil {
			return nil, err
		}
		in.Transition.Export = in.Export.Key
		if err := tx.InsertAudit(model.AuditEntry{At: now, Author: by, Action: model.ActionExport, Tenant: tenant,
			Object: model.ExportObject(in.Export), Detail: in.Export.LeftOutSentence()}); err != nil {
			return nil, err
		}
	}
	return in, tx.InsertTransition(&in.Transition)
}

const nobody = "the tenant had no integration when the job application entered the step: add one, then export the " +
	"candidate again"

// help exports for a helper. An integration that it names and that is gone has a delivery as well, which says so.
func (t *Trigger) help(tx *store.Tx, a *model.JobApplication, s *model.Step) (*model.Export, error) {
	to := s.Helper.Integrations
	if tenant, ok := t.Config.Tenant(a.Tenant); ok && len(to) == 0 {
		to = tenant.IntegrationNames()
	}
	e, err := t.Export(tx, Request{Tenant: a.Tenant, Candidate: a.Candidate, Integrations: to, Application: a.ID,
		Step: s.ID})
	if err != nil || len(to) > 0 {
		return e, err
	}
	e.Fault = nobody
	return e, tx.MarkFault(e.ID, nobody, e.ReceivedAt)
}
