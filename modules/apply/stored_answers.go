package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
)

// store implements backend. It writes the application in one transaction with its candidate, documents and answers, the
// entry into the first step with its helper's export, and the Idempotency-Key.
func (b *taken) store(s *receivedAnswers, sheet *sheet) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.r.Context()), patience)
	defer cancel()
	g := s.api.Gateway
	tenant, ok := g.Config.Tenant(s.caller.user.Tenant)
	if !ok {
		return errNoJob
	}
	t := g.Trigger(s.r)
	var before string
	var export *model.Export
	var stored *model.JobApplication
	write := func(tx *store.Tx) (err error) {
		before, stored, export, err = s.write(tx, sheet, tenant, t)
		return err
	}
	err := s.api.db().WriteOrdered(ctx, tenant.Name, write)
	if refused := new(trigger.RefusedError); errors.As(err, &refused) {
		s.refused = refused.Reason
		err = s.api.db().WriteOrdered(ctx, tenant.Name, write)
	}
	if err != nil || before != "" {
		return s.repeat(before, err)
	}
	if reason := stored.Status.Unentered; reason != "" {
		s.log.Warn("an application could not enter the first step", zap.String("application", s.id), zap.String("reason", reason))
	}
	if export != nil && export.Fault == "" {
		g.Runtime.Dispatcher.Offer(export)
	}
	return nil
}

// write is the transaction, which may run more than once. before is the application of an earlier request with the
// Idempotency-Key, and export the export of the first step's helper. The applicant can do nothing about a step that can't
// be entered: the application is stored without it, and says why.
func (s *receivedAnswers) write(tx *store.Tx, sheet *sheet, of *model.Tenant, t *trigger.Trigger) (before string,
	a *model.JobApplication, export *model.Export, err error) {
	if !s.form {
		valid, err := tx.LockAPIToken(s.caller.token, s.began)
		if err == nil && !valid {
			err = errBadToken
		}
		if err != nil {
			return before, nil, nil, err
		}
	}
	if s.key != nil {
		if before, err = tx.Do(s.key, s.id, s.began); err != nil || before != "" {
			return before, nil, nil, err
		}
	}
	tenant := s.caller.user.Tenant
	job, ok, err := tx.LockJob(tenant, sheet.job.BoardCode)
	if err == nil && (!ok || !job.IsOpen(s.began)) {
		err = errNoJob
	}
	if err != nil {
		return before, nil, nil, err
	}
	candidate, err := s.writeCandidate(tx, sheet.candidate, of)
	if err != nil {
		return before, nil, nil, err
	}
	a = &model.JobApplication{Row: model.Row{Tenant: tenant}, ID: s.id, Candidate: candidate, Job: job.BoardCode,
		LanguageCode: cmp.Or(job.LanguageCode, model.DefaultLanguage)}
	if a.VersionOf, err = s.versionOf(tx, a); err != nil {
		return before, nil, nil, err
	}
	first, err := firstStep(tx, tenant)
	if err == nil && first != nil && a.VersionOf == "" {
		a.Status.Unentered, err = s.hindrance(tx, a, of)
	}
	if err != nil {
		return before, nil, nil, err
	}
	if err := tx.UpsertJobApplication(a, s.began); err != nil {
		return before, nil, nil, err
	}
	if err := s.writeAnswers(tx, a, sheet); err != nil || first == nil || a.VersionOf != "" || a.Unentered() {
		return before, a, nil, err
	}
	in, err := t.EnterStep(tx, tenant, s.id, first.ID, s.author())
	if err != nil {
		return before, nil, nil, err
	}
	return before, a, in.Export, nil
}

// author identifies who sent the application.
func (s *receivedAnswers) author() model.Author {
	if s.form {
		return model.Author{Actor: formActor}
	}
	return model.Author{Actor: "api-user:" + s.caller.user.ID, Name: s.caller.user.Name}
}

// versionsWithin is for how long a further application for the same job stands beside the first.
const versionsWithin = 24 * time.Hour

// versionOf returns the id of the job application that an application is a further version of; empty: it is none. An e-mail
// address proves nothing: what comes under it replaces nothing.
func (s *receivedAnswers) versionOf(tx *store.Tx, a *model.JobApplication) (string, error) {
	first, err := tx.FirstApplicationSince(a.Tenant, a.Candidate, a.Job, s.began.Add(-versionsWithin))
	if err != nil || first == nil {
		return "", err
	}
	return first.ID, nil
}

// hindrance returns why an application can't enter the first step; empty: it is to try. That an e-mail address is an
// applicant's nobody has checked: beyond a number of open job applications none enters a step by itself.
func (s *receivedAnswers) hindrance(tx *store.Tx, a *model.JobApplication, of *model.Tenant) (string, error) {
	most := of.MaxOpenApplications()
	open, err := tx.CountOpenApplicationsOf(a.Tenant, a.Candidate, most)
	if err == nil && open >= most {
		return fmt.Sprintf("the candidate had %d open job applications already, the most that enter a step by themselves", most), nil
	}
	return s.refused, err
}

// writeCandidate returns the candidate with the applicant's e-mail address, unchanged, or inserts one.
func (s *receivedAnswers) writeCandidate(tx *store.Tx, c model.Candidate, of *model.Tenant) (id string, err error) {
	tenant := s.caller.user.Tenant
	if len(c.Email) > 0 {
		known, ok, err := tx.LockCandidateByEmail(tenant, c.Email[0])
		if err != nil {
			return "", err
		}
		if ok {
			return known.ID, nil
		}
	}
	c.Row, c.ID, c.ApplyDate = model.Row{Tenant: tenant}, uuid.NewString(), of.Day(s.began)
	return c.ID, tx.UpsertCandidate(&c, s.began)
}

// writeAnswers writes documents and answers.
func (s *receivedAnswers) writeAnswers(tx *store.Tx, a *model.JobApplication, sheet *sheet) error {
	for _, d := range sheet.documents {
		d.Key, d.Tenant, d.Application, d.CreatedAt = model.NewID(s.began), a.Tenant, a.ID, s.began
		if _, err := s.api.Gateway.Runtime.Archive.InsertDocument(tx, &d); err != nil {
			return err
		}
	}
	for _, name := range s.uploads {
		if err := documents.ClaimUpload(tx, name); err != nil {
			return fmt.Errorf("taking in a file of the application: %w", err)
		}
	}
	submitted := &model.ApplicationAnswers{Source: s.body.source, APIUser: s.caller.user.Name, Answers: sheet.given}
	if err := tx.InsertApplicationAnswers(a.Tenant, a.ID, submitted); err != nil {
		return err
	}
	for _, c := range sheet.compliance {
		if err := tx.InsertComplianceAnswer(a, c, s.began); err != nil {
			return err
		}
	}
	return nil
}

// firstStep returns the first step of a tenant's workflow; nil: there is none.
func firstStep(tx *store.Tx, tenant string) (*model.Step, error) {
	steps, err := tx.ListSteps(tenant)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	return slices.MinFunc(steps, func(a, b *model.Step) int { return cmp.Compare(a.Position, b.Position) }), nil
}
