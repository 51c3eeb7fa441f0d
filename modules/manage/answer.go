package manage

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/workflows/export"
)

// answer is what goes out, and what is kept for a repeat of the request.
type answer struct {
	Status   int    `json:"status"`
	Type     string `json:"type,omitempty"` // default: application/json
	ETag     string `json:"etag,omitempty"`
	Location string `json:"location,omitempty"`
	Body     []byte `json:"body,omitempty"`
}

func (a *answer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for name, value := range map[string]string{"ETag": a.ETag, "Location": a.Location} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if len(a.Body) > 0 {
		h.Set("Content-Type", "application/json")
		if a.Type != "" {
			h.Set("Content-Type", a.Type)
		}
	}
	w.WriteHeader(a.Status)
	w.Write(a.Body)
}

// answer writes what a route returns: a value as JSON, nothing with 204, or the error as a problem. It reports whether all went well.
func (r *request) answer(v any, err error) (good bool) {
	var a *answer
	if err == nil {
		a, err = r.encoded(v)
	}
	if err != nil {
		r.refuse(err)
		return false
	}
	a.write(r.w)
	return a.Status < 400
}

// refuse writes an error as a problem.
func (r *request) refuse(err error) {
	p := r.problem(err)
	if p.Status == http.StatusUnauthorized {
		r.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.Write(r.w)
}

// problem returns the problem that an error is answered with. It logs the errors that are the gateway's own.
func (r *request) problem(err error) *problem.Problem {
	var (
		p         *problem.Problem
		triggered *trigger.RefusedError
		round     *export.RefusedError
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
	case errors.Is(err, trigger.ErrNoSuch):
		_, sentence, _ := strings.Cut(err.Error(), ": ")
		return problem.New(http.StatusNotFound, sentence)
	case errors.Is(err, store.ErrStale) && r.conditional():
		return problem.New(http.StatusPreconditionFailed, "somebody else changed it at the same moment: read it again, and send the ETag of that answer as If-Match")
	case errors.Is(err, store.ErrStale), errors.Is(err, store.ErrLeaseLost):
		return problem.New(http.StatusConflict, "somebody else changed it at the same moment: read it again, and try again")
	case errors.Is(err, store.ErrTaken):
		return problem.New(http.StatusConflict, "its id belongs to another one of this tenant: choose another")
	case r.Context().Err() != nil:
		return unavailable()
	case errors.Is(err, store.ErrUnavailable):
		r.log.Error("the management API could not use the store", zap.Error(err))
		return unavailable()
	}
	r.log.Error("the management API could not do what was asked", zap.String("path", r.Pattern), zap.Error(err))
	return problem.New(http.StatusInternalServerError, "the gateway could not do this: look at its log")
}

func unavailable() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "the gateway can't use its database now: ask again in a moment").RetryAfter(5 * time.Second)
}

// encoded is the answer that holds a value, or says that the asker has it already. Arrays are never null.
func (r *request) encoded(v any) (*answer, error) {
	if a, ok := v.(*answer); ok {
		return a, nil
	}
	a := &answer{Status: r.status, ETag: r.etag, Location: r.location}
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.etag != "" && listsTagWeakly(r.Header.Values("If-None-Match"), r.etag) {
		a.Status = http.StatusNotModified
		return a, nil
	}
	if v == nil {
		a.Status = http.StatusNoContent
		return a, nil
	}
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	a.Body = append(body, '\n')
	return a, nil
}

// refusal is a problem as it is kept for a repeat of the request.
func refusal(p *problem.Problem) (*answer, error) {
	body, err := stdjson.Marshal(p)
	return &answer{Status: p.Status, Type: "application/problem+json", Body: append(body, '\n')}, err
}
