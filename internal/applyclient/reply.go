package applyclient

import (
	"encoding/json"
	"mime"
	"net/http"

	"github.com/hiregate/hiregate/internal/model"
)

// Question is a question as an Apply API shows it (contract, "Question").
type Question struct {
	ID         string       `json:"id"`
	Format     model.Format `json:"format"`
	IsRequired bool         `json:"isRequired"`
	Label      string       `json:"label"`
	Options    []string     `json:"options"`
	MaxLength  *int         `json:"maxLength"`
	Group      *string      `json:"group"`
}

// Reply is the answer of an Apply API.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Problem is an error body (contract, "Error body").
type Problem struct {
	Code    *int                  `json:"code"`
	Message *string               `json:"message"`
	Errors  []model.InvalidAnswer `json:"errors"`
}

// Problem reads the error body, as far as it is one. ok reports whether it is as the contract has it: code, which is the
// status, a message, and errors, if there are any, about questions.
func (r *Reply) Problem() (p Problem, ok bool) {
	err := json.Unmarshal(r.Body, &p)
	ok = err == nil && p.Code != nil && *p.Code == r.Status && p.Message != nil && *p.Message != ""
	for _, item := range p.Errors {
		ok = ok && item.QuestionID != ""
	}
	return p, ok
}

// JSON reports whether the answer says that it is JSON (contract, Endpoints, C).
func (r *Reply) JSON() bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// Token returns the token of an answer to user name and password; empty: it has none.
func (r *Reply) Token() string {
	var said struct{ Token string }
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &said) != nil {
		return ""
	}
	return said.Token
}

// Verdict is the meaning of an answer to an application.
type Verdict int

const (
	// Undecided is the verdict of an answer that need not be the Apply API's, or of one that may be another later: a
	// login page, a firewall's, a redirect, a fault, a refused token. The application has to be sent again.
	Undecided Verdict = iota
	// Delivered means that the application was accepted.
	Delivered
	// Deviating means that it was accepted, with another answer than the contract's.
	Deviating
	// Refused means that the Apply API looked at the application and does not want it.
	Refused
)

// Verdict returns what an answer to an application means.
func (r *Reply) Verdict() Verdict {
	switch {
	case r.Status == http.StatusNoContent:
		return Delivered
	case r.Status/100 == 2 && (len(r.Body) == 0 || r.JSON() && json.Valid(r.Body)):
		return Deviating
	case r.Status == http.StatusBadRequest, r.Status == http.StatusRequestEntityTooLarge,
		r.Status == http.StatusUnprocessableEntity:
		if _, ok := r.Problem(); ok {
			return Refused
		}
	}
	return Undecided
}
