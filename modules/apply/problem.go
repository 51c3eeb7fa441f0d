package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// bearerRealm is the challenge of an address that needs a token (RFC 6750 section 3).
const bearerRealm = `Bearer realm="apply"`

var (
	errNotFound = problem.New(http.StatusNotFound, "the Apply API has nothing at this address")
	errNoJob    = problem.New(http.StatusBadRequest, "there is no open job with this job board code")
	errBrokeOff = problem.New(http.StatusBadRequest, "the body broke off: send it again").Closing()

	errNoToken = problem.New(http.StatusUnauthorized,
		"send the header Authorization with the word Bearer and a token of /v2/authentication").
		Challenge(bearerRealm).Closing()
	errBadToken = problem.New(http.StatusUnauthorized,
		"the token is unknown, expired or revoked: ask /v2/authentication for a new one").
		Challenge(bearerRealm + `, error="invalid_token"`).Closing()
	errOtherBody = problem.New(http.StatusUnprocessableEntity,
		"this Idempotency-Key was sent with another application before: take a new one for each")
	errWrongPassword = problem.New(http.StatusUnauthorized, "user name or password is wrong").Challenge(bearerRealm)

	errStoreAway = problem.New(http.StatusServiceUnavailable,
		"the service can't use its database now: send the same again in a moment").RetryAfter(5 * time.Second).Closing()
)

// invalidAnswers refuses an application, and counts why by the formats of the questions.
func invalidAnswers(wrong []schemas.InvalidAnswer) *problem.Problem {
	var items []model.InvalidAnswer
	for _, one := range wrong {
		metrics.InvalidAnswer(cmp.Or(string(one.Format), metrics.Unknown))
		items = append(items, model.InvalidAnswer{QuestionID: one.QuestionID, Messages: one.Messages})
	}
	p := problem.New(http.StatusBadRequest, "some answers are not valid: see errors")
	p.Findings = items
	return p
}

// unreachable reports whether an error means that the database did not answer, or not in time. A commit may have
// succeeded nevertheless.
func unreachable(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// refuse answers with a problem (contract, "Error body"). On the path of applications its findings are the errors.
func refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	body := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Errors  *any   `json:"errors,omitempty"`
	}{Code: p.Status, Message: p.Detail}
	if strings.HasSuffix(r.URL.Path, "/v2/application") {
		body.Errors = &p.Findings
	}
	switch p {
	case errNoToken:
		metrics.KeyRefused("apply", metrics.KeyMissing)
	case errBadToken:
		metrics.KeyRefused("apply", metrics.KeyUnknown)
	}
	p.SetHeader(w, r.ContentLength != 0)
	raw, err := encode(body)
	if err != nil { // of strings and numbers
		raw = []byte("{}\n")
	}
	send(w, p.Status, raw)
}

// writeJSON answers 200 with a value.
func writeJSON(w http.ResponseWriter, v any) error {
	body, err := encode(v)
	if err == nil {
		send(w, http.StatusOK, body)
	}
	return err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", cmp.Or(h.Get("Cache-Control"), "no-store"))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // an error means that the client is gone
}
