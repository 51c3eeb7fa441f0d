package apply

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/inbound"
	"github.com/hiregate/hiregate/internal/jsonstream"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

// applicationID is the header of a 204 that names the job application.
const applicationID = "X-Application-Id"

const (
	leastCap    = 64 << 20 // bytes of a body
	capOfFile   = 14 << 20
	capOfRest   = 2 << 20
	receiveTime = documents.UploadTime / 2 // for a whole body
	keptFor     = 24 * time.Hour           // what became of an Idempotency-Key
	patience    = 10 * time.Second         // with the database, once the body is there
)

// apply takes an application in. It is on disk before the answer.
func (x *exchange) apply() *refusal {
	s := &submission{exchange: x, id: uuid.NewString(), began: x.Gateway.Now().UTC().Truncate(time.Microsecond)}
	result, refused := s.take()
	metrics.Application(x.user.Tenant, result, s.read)
	if refused == nil {
		x.Log.Info("an application was taken in", zap.String("user", x.user.ID), zap.String("tenant", x.user.Tenant), zap.String("application", s.id),
			zap.String("result", result), zap.String("request", x.id()))
		x.w.Header().Set(applicationID, s.id)
		x.w.WriteHeader(http.StatusNoContent)
	}
	return refused
}

// submission is an application that is being taken in.
type submission struct {
	*exchange
	id    string
	began time.Time
	once  *store.Once // nil: without an Idempotency-Key
	body  *body
	read  int64 // bytes of the body
}

// take takes the application in, and gives the word under which that is counted.
func (s *submission) take() (result string, refused *refusal) {
	key, refused := s.key()
	if refused != nil {
		return "refused", refused
	}
	if key != nil {
		if !s.Guards.begin(*key) {
			return "refused", refuse(http.StatusConflict, "an application with this Idempotency-Key is being taken in: send it again in a moment").after(time.Second).closing()
		}
		defer s.Guards.end(*key)
	}
	most, err := s.limit()
	if err != nil {
		return "failed", s.away(err)
	}
	if s.r.ContentLength > most {
		return "refused", tooLarge()
	}
	inbound.Within(s.w, receiveTime)
	// Keyed with what the database has only the hash of: else a copy of it would tell whoever guesses an application when they have it.
	sum := hmac.New(sha256.New, []byte(s.r.Header.Get("Idempotency-Key")))
	s.body = &body{
		ctx: s.r.Context(), archive: s.Gateway.Runtime.Archive, job: s.sheet,
		in: jsonstream.NewReader(&counted{http.MaxBytesReader(s.w, s.r.Body, most), sum, &s.read}),
	}
	defer s.body.close()
	if err := s.body.read(); err != nil {
		s.forget()
		return s.unread(err)
	}
	if _, refused := s.holder(s.began); refused != nil { // the body may have been on its way for long
		s.forget()
		return "refused", refused
	}
	if key != nil {
		now := s.Gateway.Now()
		s.once = &store.Once{ID: *key, Fingerprint: [32]byte(sum.Sum(nil)), Lease: now, Till: now.Add(keptFor)}
		if result, refused := s.known(); result != "" {
			return result, refused
		}
	}
	return s.decide()
}

// counted hashes and counts what is read. Its errors are io.EOF and brokenOff.
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

// brokenOff is why a body could not be read to its end: its connection, its chunks (RFC 9112 section 7.1), its length, or its time.
type brokenOff struct{ error }

func (e brokenOff) Unwrap() error { return e.error }

// key reads the header Idempotency-Key; it is the user's own.
func (s *submission) key() (*[32]byte, *refusal) {
	sent := s.r.Header.Values("Idempotency-Key")
	if len(sent) == 0 {
		return nil, nil
	}
	if len(sent) > 1 || !webhook.ValidUUID(sent[0]) {
		return nil, refuse(http.StatusBadRequest, "send one Idempotency-Key, of 1 to 255 visible ASCII characters").closing()
	}
	id := digest.Of("application", s.user.ID, sent[0])
	return &id, nil
}

// limit is the largest body, by what the tenant's open jobs ask.
func (s *submission) limit() (int64, error) {
	files, err := s.db.MostFiles(s.r.Context(), s.user.Tenant)
	return max(leastCap, int64(files)*capOfFile+capOfRest), err
}

func tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, "the application is larger than any job here asks for").closing()
}

// unread says why a body could not be read.
func (s *submission) unread(err error) (string, *refusal) {
	var (
		large *http.MaxBytesError
		wrong *jsonstream.Error
		shape shapeError
		broke brokenOff
	)
	switch {
	case errors.As(err, &large):
		return "refused", tooLarge()
	case errors.As(err, &wrong):
		return "refused", refuse(http.StatusBadRequest, "the body is not valid JSON: "+wrong.Error()).closing()
	case errors.As(err, &shape):
		return "refused", refuse(http.StatusBadRequest, shape.Error()).closing()
	case errors.Is(err, store.ErrUnavailable):
		return "failed", s.away(err)
	case documents.Full(err):
		s.Log.Error("an application could not be kept", zap.String("request", s.exchange.id()), zap.Error(err))
		return "failed", refuse(http.StatusServiceUnavailable, "the service has no room for documents now, and nothing was kept: send the same again later").after(time.Minute).closing()
	case s.r.Context().Err() != nil, errors.As(err, &broke):
		return "failed", refuse(http.StatusBadRequest, "the body broke off: send it again").closing()
	}
	return "failed", s.broken("an application could not be read", err).closing()
}

// decide checks the answers, and takes the application when all are right.
func (s *submission) decide() (string, *refusal) {
	if s.body.sheet == nil {
		s.forget()
		return "refused", noJob()
	}
	filled, items, err := s.body.sheet.fill(s.body, s.Gateway.Runtime.Archive.Files)
	switch {
	case err != nil:
		s.forget()
		return s.unread(err)
	case len(items) > 0:
		s.forget()
		f := refuse(http.StatusBadRequest, "some answers are not valid: see errors")
		f.items = items
		return "invalid", f
	}
	return s.keep(filled)
}

// noJob is the refusal for a job that nobody can apply for, whyever.
func noJob() *refusal {
	return refuse(http.StatusBadRequest, "there is no open job with this job board code")
}

// forget removes what was put into the document store.
func (s *submission) forget() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.r.Context()), patience)
	defer cancel()
	if err := s.Gateway.Runtime.Archive.Forget(ctx, s.body.uploads); err != nil {
		s.Log.Warn("files of an application that was not taken could not be removed yet", zap.String("request", s.exchange.id()), zap.Error(err))
	}
}
