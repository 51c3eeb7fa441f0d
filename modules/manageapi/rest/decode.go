package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
)

// maxBody is the largest body that is not a file, in bytes, unless its route takes a larger one.
const maxBody = 1 << 20

// read reads the whole body, so that the request is checked before anything is done.
func (r *Request) read(most int64) (err error) {
	done := bodies.Within(r.Writer, r.Gateway.Runtime.Unverified.Limit())
	r.Content, err = io.ReadAll(http.MaxBytesReader(r.Writer, r.Body, most))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return problem.Newf(http.StatusRequestEntityTooLarge, "the body is larger than %d MiB: send less", most>>20).Closing()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return TooSlow()
	}
	if err != nil {
		return problem.New(http.StatusBadRequest, "the body broke off: send the request again").Closing()
	}
	done()
	return nil
}

// TooSlow returns the problem (408) of a body that stops or is too slow.
func TooSlow() error {
	return problem.New(http.StatusRequestTimeout,
		"the body came too slowly, or stood still: send it again, without pauses").Closing()
}

// Decode reads the body as JSON: one object, in UTF-8, with each member once and none that the struct T does not know.
func Decode[T any](r *Request) (v T, err error) {
	if gateway.TextType(r.Header) != "application/json" {
		return v, problem.New(http.StatusUnsupportedMediaType,
			"send the body as JSON, with the header Content-Type: application/json")
	}
	if err := json.Unmarshal(r.Content, &v, json.RejectUnknownMembers(true)); err != nil {
		if rule := new(model.InvalidError); errors.As(err, &rule) {
			return v, Invalid(rule)
		}
		return v, problem.New(http.StatusBadRequest, Unreadable(err))
	}
	// null is nothing to a struct, and would empty what it is put in the place of
	if jsontext.Value(r.Content).Kind() != '{' {
		return v, problem.New(http.StatusBadRequest,
			"the body is null: send one JSON object, with what there is to say in it")
	}
	return v, nil
}

// DecodeAny is Decode for a body that may be left out.
func DecodeAny[T any](r *Request) (v T, err error) {
	if len(r.Content) == 0 {
		return v, nil
	}
	return Decode[T](r)
}

// Unreadable says why a body can't be read. It names members, and never gives their values.
func Unreadable(err error) string {
	var (
		syntax   *jsontext.SyntacticError
		semantic *json.SemanticError
	)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return fmt.Sprintf("the body has the member %s twice: keep one of them", member(syntax.JSONPointer))
	case errors.As(err, &syntax):
		return fmt.Sprintf("the body is not JSON (byte %d): send one JSON object in UTF-8, and nothing after it",
			syntax.ByteOffset)
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return fmt.Sprintf("the body has a member %s, which is unknown here: leave it out, or look for its right "+
			"name in openapi.json", member(semantic.JSONPointer))
	case errors.As(err, &semantic) && semantic.JSONPointer != "":
		return fmt.Sprintf("the member %s of the body is not what goes there: look at openapi.json",
			member(semantic.JSONPointer))
	}
	return "the body is not what goes here: look at openapi.json"
}

// member names a place in the body as hiring's Check methods do: customFields[0].name.
func member(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			fmt.Fprintf(&b, ".%.40s", token)
		default:
			fmt.Fprintf(&b, "%.40s", token)
		}
	}
	return fmt.Sprintf("%q", b.String())
}

// Invalid returns the problem (422) of a resource that breaks a rule; nil where err is nil.
func Invalid(err error) error {
	if err == nil {
		return nil
	}
	p := problem.New(http.StatusUnprocessableEntity, err.Error())
	if faults := new(model.InvalidError); errors.As(err, &faults) {
		p.Findings = faults.Faults
	}
	return p
}
