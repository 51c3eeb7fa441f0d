package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/etag"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// answer is the response to a request, as it is written.
type answer struct {
	status         int
	etag, location string
	body           []byte
}

func (a *answer) write(w http.ResponseWriter) {
	h := w.Header()
	keepPrivate(h)
	for name, value := range map[string]string{"ETag": a.etag, "Location": a.location} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if len(a.body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}

// keepPrivate sets what each answer has: nobody keeps it, or takes it for another type.
func keepPrivate(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// Stream writes an answer with its header while it is made. Where that fails, the connection breaks, so that no part of
// it looks complete.
type Stream func(http.ResponseWriter, *http.Request) error

func (r *Request) stream(write Stream) {
	keepPrivate(r.Writer.Header())
	if err := write(r.Writer, r.Request); err != nil {
		r.Log.Error("the management API could not write an answer to its end", zap.String("path", r.Pattern),
			zap.Error(err))
		panic(http.ErrAbortHandler)
	}
}

// answer writes what a route returns: a value as JSON, nothing with 204, a Stream, or the error as a problem. It
// reports whether all went well.
func (r *Request) answer(v any, err error) (good bool) {
	if write, ok := v.(Stream); ok && err == nil {
		r.stream(write)
		return true
	}
	var a *answer
	if err == nil {
		a, err = r.encoded(v)
	}
	if err != nil {
		r.refuse(err)
		return false
	}
	a.write(r.Writer)
	return a.status < 400
}

// refuse writes an error as a problem.
func (r *Request) refuse(err error) {
	p := r.Problem(err)
	if p.Status == http.StatusUnauthorized {
		r.Writer.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.Write(r.Writer)
}

// Problem returns the problem that an error is answered with. It logs the errors that are the gateway's own.
func (r *Request) Problem(err error) *problem.Problem {
	var (
		p         *problem.Problem
		triggered *trigger.RefusedError
		round     *rounds.RefusedError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &triggered) && triggered.Ambiguous:
		return problem.New(http.StatusUnprocessableEntity, triggered.Reason)
	case errors.As(err, &triggered):
		return problem.New(http.StatusConflict, triggered.Reason)
	case errors.As(err, &round):
		return problem.New(http.StatusConflict, round.Reason)
	case errors.Is(err, trigger.ErrNotFound):
		_, sentence, _ := strings.Cut(err.Error(), ": ")
		return problem.New(http.StatusNotFound, sentence)
	case errors.Is(err, store.ErrStale) && r.conditional():
		return problem.New(http.StatusPreconditionFailed, "another request changed it at the same moment: read it again, "+
			"and send the ETag of that answer as If-Match")
	case errors.Is(err, store.ErrStale), errors.Is(err, store.ErrLeaseLost):
		return problem.New(http.StatusConflict, "another request changed it at the same moment: read it "+
			"again, and try again")
	case errors.Is(err, store.ErrTaken):
		return problem.New(http.StatusConflict, "its id belongs to another one of this tenant: choose another")
	case r.Context().Err() != nil:
		return unavailable()
	case errors.Is(err, store.ErrUnavailable):
		r.Log.Error("the management API could not use the store", zap.Error(err))
		return unavailable()
	}
	r.Log.Error("the management API could not do what was asked", zap.String("path", r.Pattern), zap.Error(err))
	return problem.New(http.StatusInternalServerError, "the gateway could not do this: look at its log")
}

func unavailable() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable,
		"the gateway can't use its database now: ask again in a moment").RetryAfter(5 * time.Second)
}

// encoded returns the answer with a value as JSON, or 304 where the caller has it already. Arrays are never null.
func (r *Request) encoded(v any) (*answer, error) {
	a := &answer{status: r.Status, etag: r.ETag, location: r.Location}
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ETag != "" &&
		etag.ListedWeakly(r.Header.Values("If-None-Match"), r.ETag) {
		a.status = http.StatusNotModified
		return a, nil
	}
	if v == nil {
		a.status = http.StatusNoContent
		return a, nil
	}
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	a.body = append(body, '\n')
	return a, nil
}
