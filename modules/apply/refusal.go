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
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// refusal is an error answer (contract, "Error body"). message and items are for people; nothing of the request's body
// is in them.
type refusal struct {
	status     int
	message    string
	items      []Item
	challenge  string // the header WWW-Authenticate
	token      string // why a token was refused, for the metrics; empty: it was not
	retryAfter time.Duration
	close      bool
}

// Item says what is wrong with an answer (contract, "Validation item").
type Item struct {
	QuestionID string   `json:"questionId"`
	Messages   []string `json:"messages"`
}

func (f *refusal) Error() string { return f.message }

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

// after adds the header Retry-After, of a second at least.
func (f *refusal) after(d time.Duration) *refusal {
	f.retryAfter = max(d, time.Second)
	return f
}

// closing closes the connection soon after the answer, without waiting for the rest of the body.
func (f *refusal) closing() *refusal {
	f.close = true
	return f
}

// invalidAnswers refuses an application, and counts why by the formats of the questions.
func invalidAnswers(wrong []schemas.InvalidAnswer) *refusal {
	f := refuse(http.StatusBadRequest, "some answers are not valid: see errors")
	for _, one := range wrong {
		metrics.InvalidAnswer(cmp.Or(string(one.Format), metrics.Unknown))
		f.items = append(f.items, Item{one.QuestionID, one.Messages})
	}
	return f
}

func notFound() *refusal {
	return refuse(http.StatusNotFound, "the Apply API has nothing at this address")
}

// noJob refuses a job that nobody can apply for, for whatever reason.
func noJob() *refusal {
	return refuse(http.StatusBadRequest, "there is no open job with this job board code")
}

var errBrokeOff = refuse(http.StatusBadRequest, "the body broke off: send it again").closing()

func storeAway() *refusal {
	return refuse(http.StatusServiceUnavailable,
		"the service can't use its database now: send the same again in a moment").after(5 * time.Second).closing()
}

// unreachable reports whether an error means that the database did not answer, or not in time. A commit may have been
// made nevertheless.
func unreachable(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

func unauthorized(challenge, message string) *refusal {
	f := refuse(http.StatusUnauthorized, message)
	f.challenge = challenge
	return f
}

func badToken() *refusal {
	f := unauthorized(`Bearer realm="apply", error="invalid_token"`,
		"the token is unknown, expired or revoked: ask /v2/authentication for a new one").closing()
	f.token = metrics.KeyUnknown
	return f
}

func (f *refusal) write(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Code    int     `json:"code"`
		Message string  `json:"message"`
		Errors  *[]Item `json:"errors,omitempty"`
	}{Code: f.status, Message: f.message}
	if strings.HasSuffix(r.URL.Path, "/v2/application") {
		body.Errors = &f.items
	}
	if f.token != "" {
		metrics.KeyRefused("apply", f.token)
	}
	if f.challenge != "" {
		w.Header().Set("WWW-Authenticate", f.challenge)
	}
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", problem.Seconds(f.retryAfter))
	}
	if f.close && r.ContentLength != 0 {
		problem.Close(w)
	}
	raw, err := encode(body)
	if err != nil { // of strings and numbers
		raw = []byte("{}\n")
	}
	send(w, f.status, raw)
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
