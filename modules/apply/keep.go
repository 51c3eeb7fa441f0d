package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
)

// errClosed says that a job was closed or deleted while somebody applied for it.
var errClosed = errors.New("the job takes no applications any more")

// errRevoked says that the user's token was revoked while they applied.
var errRevoked = errors.New("the token was revoked")

// known answers what was sent with this Idempotency-Key before; an empty result: nothing was. Job and answers are not looked at, for
// the job may be closed or ask something else by now.
func (s *submission) known() (result string, refused *refusal) {
	kept, err := s.db.Known(s.r.Context(), s.once, s.began)
	switch {
	case errors.Is(err, store.ErrOtherRequest):
		return s.misused()
	case err != nil:
		s.forget()
		return "failed", s.away(err)
	case kept.Answered:
		return s.repeated(string(kept.Answer))
	}
	return "", nil
}

// repeated is for an application that was taken before, under an id.
func (s *submission) repeated(id string) (string, *refusal) {
	s.id = id
	s.forget()
	return "repeated", nil
}

// misused is for an Idempotency-Key that stands for another application.
func (s *submission) misused() (string, *refusal) {
	s.forget()
	return "refused", refuse(http.StatusUnprocessableEntity, "this Idempotency-Key was sent with another application before: take a new one for each")
}

// keep writes the application with all that belongs to it, in one transaction: candidate, documents, answers, the entering of the
// first step with what its helper exports, and the Idempotency-Key.
func (s *submission) keep(f *filled) (string, *refusal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.r.Context()), patience)
	defer cancel()
	tenant, ok := s.Gateway.Config.Tenant(s.user.Tenant)
	if !ok {
		s.forget()
		return "refused", noJob()
	}
	t := s.Gateway.Trigger()
	configured, err := t.Configured(ctx, tenant)
	if err != nil {
		s.forget()
		return "failed", s.away(err)
	}
	w := &writing{submission: s, filled: f, trigger: t, configured: configured}
	err = s.db.WriteOrdered(ctx, s.user.Tenant, w.write)
	if tooMuch := new(trigger.RefusedError); errors.As(err, &tooMuch) {
		// The applicant can do nothing about it, and shall not suffer from it.
		s.Log.Error("an application could not enter the first step: the helper's export was refused", zap.String("application", s.id), zap.Error(err))
		w.trigger = nil
		err = s.db.WriteOrdered(ctx, s.user.Tenant, w.write)
	}
	switch {
	case err == nil && w.before != "":
		return s.repeated(w.before)
	case err == nil:
		if w.export != nil && w.export.Fault == "" {
			s.Gateway.Runtime.Dispatcher.Offer(w.export)
		}
		return "accepted", nil
	case errors.Is(err, errClosed):
		s.forget()
		return "refused", noJob()
	case errors.Is(err, errRevoked):
		s.forget()
		return "refused", s.ended()
	case errors.Is(err, store.ErrOtherRequest):
		return s.misused()
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		// It may have been committed all the same, or removing the files may wait as long again: they are left to the sweep, which knows.
		return "failed", s.away(err)
	}
	s.forget()
	return "failed", s.broken("an application could not be kept", err)
}

// writing is the transaction of an application.
type writing struct {
	*submission
	*filled
	trigger    *trigger.Trigger // nil: no step is entered
	configured []string

	// What came of it.
	before string // the job application that the Idempotency-Key stands for already; empty: none
	export *hiring.Export
}

// write may run more than once.
func (w *writing) write(tx *store.Tx) error {
	w.before, w.export = "", nil
	good, err := tx.HoldAPIToken(w.token, w.began)
	if err == nil && !good {
		err = errRevoked
	}
	if err != nil {
		return err
	}
	if w.once != nil {
		kept, err := tx.Do(w.once, []byte(w.id), w.began)
		if err != nil {
			return err
		}
		if kept.Answered {
			w.before = string(kept.Answer)
			return nil
		}
	}
	job, ok, err := tx.HoldJob(w.user.Tenant, w.job.BoardCode)
	if err == nil && (!ok || job.Closed) {
		err = errClosed
	}
	if err != nil {
		return err
	}
	candidate, err := w.person(tx)
	if err != nil {
		return err
	}
	a := &hiring.JobApplication{Row: hiring.Row{Tenant: w.user.Tenant}, ID: w.id, Candidate: candidate, Job: job.BoardCode, LanguageCode: hiring.DefaultLanguage}
	if err := tx.PutJobApplication(a, w.began); err != nil {
		return err
	}
	if err := w.belongings(tx, a); err != nil {
		return err
	}
	return w.enter(tx)
}

// person finds the candidate with the applicant's e-mail address, who is not overwritten, or makes one.
func (w *writing) person(tx *store.Tx) (id string, err error) {
	if len(w.candidate.Email) > 0 {
		known, ok, err := tx.HoldCandidateByEmail(w.user.Tenant, w.candidate.Email[0])
		if err != nil {
			return "", err
		}
		if ok {
			return known.ID, nil
		}
	}
	c := w.candidate
	c.Row = hiring.Row{Tenant: w.user.Tenant}
	c.ID = uuid.NewString()
	c.ApplyDate = w.began.Format("2006-01-02")
	return c.ID, tx.PutCandidate(&c, w.began)
}

// belongings writes documents and answers.
func (w *writing) belongings(tx *store.Tx, a *hiring.JobApplication) error {
	for n := range w.documents {
		d := w.documents[n]
		d.Key, d.Tenant, d.Application, d.CreatedAt = hiring.NewID(w.began), a.Tenant, a.ID, w.began
		if _, err := w.Gateway.Runtime.Archive.Add(tx, &d); err != nil {
			return err
		}
	}
	for _, name := range w.body.uploads {
		if err := documents.Take(tx, name); err != nil {
			return fmt.Errorf("taking in a file of the application: %w", err)
		}
	}
	if err := tx.AddSubmission(a.Tenant, a.ID, &hiring.Submission{Source: w.body.source, Answers: w.given}); err != nil {
		return err
	}
	for _, c := range w.compliance {
		if err := tx.AddComplianceAnswer(a, c, w.began); err != nil {
			return err
		}
	}
	return nil
}

// enter enters the first step of the tenant's workflow, where there is one.
func (w *writing) enter(tx *store.Tx) error {
	if w.trigger == nil {
		return nil
	}
	steps, err := tx.Steps(w.user.Tenant)
	if err != nil || len(steps) == 0 {
		return err
	}
	first := steps[0]
	for _, step := range steps {
		if cmp.Compare(step.Position, first.Position) < 0 {
			first = step
		}
	}
	in, err := w.trigger.Enter(tx, w.user.Tenant, w.id, first.ID, w.configured)
	if err != nil {
		return err
	}
	w.export = in.Export
	return nil
}
