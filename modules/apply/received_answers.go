package apply

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/jsonstream"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
)

// applicationID is the header of a 204 that names the job application.
const applicationID = "X-Application-Id"

const (
	leastCap    = 64 << 20 // bytes of a body
	capOfFile   = 14 << 20
	capOfRest   = 2 << 20
	receiveTime = documents.UploadTime / 2 // for a whole body
	keptFor     = 24 * time.Hour           // the answer to an Idempotency-Key
	patience    = 10 * time.Second         // with the database, after the body was read
	checkWithin = 30 * time.Second         // for a place to be checked
	doubleClick = 100 * time.Millisecond   // between looks whether the first of two equal forms is stored
)

// receivedAnswers is a job application that is being received and stored.
type receivedAnswers struct {
	api    *API
	r      *http.Request
	caller *caller
	log    *zap.Logger
	id     string // of the job application
	began  time.Time
	in     io.Reader // the body
	once   []string  // the Idempotency-Keys
	form   bool      // a form of ours sent it: there is no token

	key      *store.Once // nil: without an Idempotency-Key
	body     *body
	size     int64     // bytes of the body that were read
	complete time.Time // when the whole body was read; zero: it was not
	repeated bool      // it was stored before, with the same Idempotency-Key
	refused  string    // why the first step is not entered; empty: it was not tried yet, or it is
}

// apply stores an application durably before it answers.
func (a *API) apply(w http.ResponseWriter, r *http.Request, c *caller) error {
	if err := checkJSON(r); err != nil {
		return err
	}
	s := a.received(w, r, c)
	if err := s.take(w); err != nil {
		return err
	}
	w.Header().Set(applicationID, s.id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// received returns an application that is the body of a request.
func (a *API) received(w http.ResponseWriter, r *http.Request, c *caller) *receivedAnswers {
	return &receivedAnswers{
		api: a, r: r, caller: c, id: uuid.NewString(), began: a.Gateway.Now().UTC().Truncate(time.Microsecond),
		in: r.Body, once: r.Header.Values("Idempotency-Key"), log: a.Log.With(zap.String("request", w.Header().Get(requestID))),
	}
}

// take accepts the application, and counts and logs that it did, or why it did not.
func (s *receivedAnswers) take(w http.ResponseWriter) error {
	err := s.accept(w)
	user, result := s.caller.user, s.result(err)
	metrics.Application(user.Tenant, result, s.size)
	if !s.complete.IsZero() {
		metrics.ApplicationAnswered(s.api.Gateway.Now().Sub(s.complete))
	}
	if err == nil {
		s.log.Info("application accepted", zap.String("user", user.ID), zap.String("tenant", user.Tenant),
			zap.String("application", s.id), zap.String("result", result))
	}
	return err
}

// result returns the label under which an application is counted.
func (s *receivedAnswers) result(err error) string {
	refused, ok := errors.AsType[*problem.Problem](err)
	switch {
	case err == nil && s.repeated:
		return "repeated"
	case err == nil:
		return "accepted"
	case !ok, refused.Status >= http.StatusInternalServerError, refused == errBrokeOff:
		return "failed"
	case refused.Findings != nil:
		return "invalid"
	}
	return "refused"
}

// accept reads the application, checks it and stores it.
func (s *receivedAnswers) accept(w http.ResponseWriter) (err error) {
	key, err := idempotencyKey(s.once, s.caller.user)
	if err != nil {
		return err
	}
	if key != nil {
		for !s.api.Guards.begin(*key) {
			if s.form && wait.For(s.r.Context(), doubleClick) { // then it is known what became of the first
				continue
			}
			return problem.New(http.StatusConflict, "an application with this Idempotency-Key is being taken in: send "+
				"it again in a moment").RetryAfter(time.Second).Closing()
		}
		defer s.api.Guards.end(*key)
	}
	defer func() { s.clear(err) }()
	fingerprint, err := s.read(w)
	if err != nil {
		return err
	}
	s.complete = s.api.Gateway.Now()
	if !s.form { // the body may have been on its way for long
		if _, err := s.api.holder(s.r, s.caller.token, s.began); err != nil {
			return err
		}
	}
	if key != nil {
		now := s.api.Gateway.Now()
		s.key = &store.Once{ID: *key, Fingerprint: fingerprint, Lease: now, Till: now.Add(keptFor)}
		// A repeat is found before the job is read, which may be closed or ask something else by now.
		before, err := s.api.db().Known(s.r.Context(), s.key, s.began)
		if err != nil || before != "" {
			return s.repeat(before, err)
		}
	}
	sheet := s.body.sheet
	if sheet == nil {
		return errNoJob
	}
	release, err := s.api.beginCheck(s.r.Context(), s.caller.user.Tenant)
	if err != nil {
		return err
	}
	defer release()
	wrong, err := sheet.fill(s.body, s.api.Gateway.Runtime.Archive.Files)
	switch {
	case err != nil:
		return s.unread(err)
	case len(wrong) > 0:
		s.api.countRefused(sheet.job, wrong)
		return invalidAnswers(wrong)
	}
	return s.store(sheet)
}

// idempotencyKey reads the values of the header Idempotency-Key; each user has keys of its own.
func idempotencyKey(sent []string, user *model.APIUser) (*[32]byte, error) {
	if len(sent) == 0 {
		return nil, nil
	}
	if len(sent) > 1 || !webhook.ValidUUID(sent[0]) {
		return nil, problem.New(http.StatusBadRequest,
			"send one Idempotency-Key, of 1 to 255 visible ASCII characters").Closing()
	}
	id := digest.Of("application", user.ID, sent[0])
	return &id, nil
}

// read reads the body. The fingerprint identifies it.
func (s *receivedAnswers) read(w http.ResponseWriter) (fingerprint [32]byte, err error) {
	ctx, a := s.r.Context(), s.api
	files, err := a.db().MaxFiles(ctx, s.caller.user.Tenant) // of the open job that asks for most
	if err != nil {
		return fingerprint, err
	}
	most := max(leastCap, int64(files)*capOfFile+capOfRest)
	if !s.form && s.r.ContentLength > most {
		return fingerprint, tooLarge()
	}
	bodies.Within(w, receiveTime)
	// Keyed with the Idempotency-Key, of which the database has only the hash: otherwise a guessed application could be
	// verified with a copy of the database.
	sum := hmac.New(sha256.New, []byte(strings.Join(s.once, "")))
	s.body = &body{
		ctx: ctx, archive: a.Gateway.Runtime.Archive,
		job: func(code string) (*sheet, error) { return a.newSheet(ctx, s.caller.user.Tenant, code) },
		in:  jsonstream.NewReader(&counted{http.MaxBytesReader(w, io.NopCloser(s.in), most), sum, &s.size}),
	}
	if err := s.body.read(); err != nil {
		return fingerprint, s.unread(err)
	}
	return [32]byte(sum.Sum(nil)), nil
}

// counted hashes and counts the bytes that are read. Its errors are io.EOF and brokenOff.
type counted struct {
	io.Reader
	sum  hash.Hash
	read *int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.sum.Write(p[:n])
	*c.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = brokenOff{err}
	}
	return n, err
}

// brokenOff is an error that ends a body early: a fault of its connection, its chunks (RFC 9112 section 7.1) or its
// length, or a timeout.
type brokenOff struct{ error }

func (e brokenOff) Unwrap() error { return e.error }

func tooLarge() *problem.Problem {
	return problem.New(http.StatusRequestEntityTooLarge, "the application is larger than any job here asks for").Closing()
}

// unread turns an error of reading the body into a problem, unless it is our fault.
func (s *receivedAnswers) unread(err error) error {
	var (
		large *http.MaxBytesError
		wrong *jsonstream.Error
		shape shapeError
		broke brokenOff
	)
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case errors.As(err, &wrong):
		return problem.New(http.StatusBadRequest, "the body is not valid JSON: "+wrong.Error()).Closing()
	case errors.As(err, &shape):
		return problem.New(http.StatusBadRequest, shape.Error()).Closing()
	case errors.Is(err, store.ErrUnavailable):
		return err
	case documents.IsFull(err):
		s.log.Error("an application could not be stored", zap.Error(err))
		return problem.New(http.StatusServiceUnavailable,
			"the service has no room for documents now, and nothing was kept: send the same again later").RetryAfter(
			time.Minute).Closing()
	case s.r.Context().Err() != nil, errors.As(err, &broke):
		return errBrokeOff
	}
	return fmt.Errorf("reading an application: %w", err)
}

// repeat answers an Idempotency-Key that was used before: with the same application, or with another one.
func (s *receivedAnswers) repeat(before string, err error) error {
	if errors.Is(err, store.ErrOtherRequest) {
		return problem.New(http.StatusUnprocessableEntity,
			"this Idempotency-Key was sent with another application before: take a new one for each")
	}
	if err == nil {
		s.id, s.repeated = before, true
	}
	return err
}

// clear removes the files of an application that was not stored. While the database does not answer they are left to
// the sweep: a commit may have been made nevertheless.
func (s *receivedAnswers) clear(err error) {
	if s.body == nil {
		return
	}
	s.body.close()
	if err == nil && !s.repeated || unreachable(err) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.r.Context()), patience)
	defer cancel()
	if err := s.api.Gateway.Runtime.Archive.DiscardUploads(ctx, s.body.uploads); err != nil {
		s.log.Warn("the files of a refused application could not be removed yet", zap.Error(err))
	}
}

// store writes the application in one transaction with its candidate, documents and answers, the entry into the first
// step with its helper's export, and the Idempotency-Key.
func (s *receivedAnswers) store(sheet *sheet) error {
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
	for _, name := range s.body.uploads {
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
