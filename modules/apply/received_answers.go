package apply

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"sync"
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
	keptFor     = 15 * 24 * time.Hour      // the answer to an Idempotency-Key: repeats may last for two weeks
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
	backend  backend
	body     *body
	uploads  []string  // each file of it, before it is written
	size     int64     // bytes of the body that were read
	complete time.Time // when the whole body was read; zero: it was not
	repeated bool      // it was stored before, with the same Idempotency-Key
	refused  string    // why the first step is not entered; empty: it was not tried yet, or it is
	checked  func()    // returns the place that it was checked in
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
	if s.repeated {
		w.Header().Set(webhook.Replayed, "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// received returns an application that is the body of a request.
func (a *API) received(w http.ResponseWriter, r *http.Request, c *caller) *receivedAnswers {
	return &receivedAnswers{
		api: a, r: r, caller: c, id: uuid.NewString(), began: a.Gateway.Now().UTC().Truncate(time.Microsecond),
		in: r.Body, once: r.Header.Values("Idempotency-Key"), log: a.Log.With(zap.String("request", w.Header().Get(requestID))),
		backend: a.backendOf(c.user.Tenant, r),
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
		if err == nil && before != "" {
			err = s.backend.repeated(s.key, before)
		}
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
	s.checked = sync.OnceFunc(release)
	defer s.checked()
	wrong, err := sheet.fill(s.body, s.api.Gateway.Runtime.Archive.Files)
	switch {
	case err != nil:
		return s.unread(err)
	case len(wrong) > 0:
		s.api.countRefused(sheet.job, wrong)
		return invalidAnswers(wrong)
	}
	return s.backend.store(s, sheet)
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
	files, err := s.backend.maxFiles()
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
		files: a.Gateway.Runtime.Archive.Files,
		put:   func(value io.Reader, most int64) (documents.Blob, error) { return s.put(ctx, value, most) },
		job:   s.backend.sheet,
		in:    jsonstream.NewReader(&counted{http.MaxBytesReader(w, io.NopCloser(s.in), most), sum, &s.size}),
	}
	if err := s.body.read(); err != nil {
		return fingerprint, s.unread(err)
	}
	return [32]byte(sum.Sum(nil)), nil
}

// put writes a file to the document store. Its name is in uploads before, so that it can be removed.
func (s *receivedAnswers) put(ctx context.Context, value io.Reader, most int64) (documents.Blob, error) {
	archive := s.api.Gateway.Runtime.Archive
	name, err := archive.BeginUpload(ctx)
	if err != nil {
		return documents.Blob{}, err
	}
	s.uploads = append(s.uploads, name)
	return archive.Files.Put(ctx, name, value, most)
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
		return errOtherBody
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
	if err := s.api.Gateway.Runtime.Archive.DiscardUploads(ctx, s.uploads); err != nil {
		s.log.Warn("the files of a refused application could not be removed yet", zap.Error(err))
	}
}
