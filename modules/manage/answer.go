package manage

import (
	stdjson "encoding/json"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/problem"
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

// answer writes what a route gives: a value as JSON, nothing with 204, or a problem. It tells whether all went well.
func (r *request) answer(v any, p *problem.Problem) (good bool) {
	if p == nil {
		var a *answer
		if a, p = r.encoded(v); p == nil {
			a.write(r.w)
			return a.Status < 400
		}
	}
	r.refuse(p)
	return false
}

// refuse writes a problem.
func (r *request) refuse(p *problem.Problem) {
	if p.Status == http.StatusUnauthorized {
		r.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.Write(r.w)
}

// encoded is the answer that holds a value, or says that the asker has it already. Arrays are never null.
func (r *request) encoded(v any) (*answer, *problem.Problem) {
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
		r.log.Error("the management API could not write an answer", zap.String("path", r.Pattern), zap.Error(err))
		return nil, problem.New(http.StatusInternalServerError, "the gateway could not write its answer: look at its log")
	}
	a.Body = append(body, '\n')
	return a, nil
}

// refusal is a problem as it is kept for a repeat of the request.
func refusal(p *problem.Problem) (*answer, error) {
	body, err := stdjson.Marshal(p)
	return &answer{Status: p.Status, Type: "application/problem+json", Body: append(body, '\n')}, err
}
