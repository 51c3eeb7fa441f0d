package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
)

// answer holds the answer of the management API in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// refusal returns what was refused; nil: nothing was.
func (a *answer) refusal() error {
	switch {
	case a.status == http.StatusNotFound, a.status/100 == 3: // which is how the mux answers an id such as ".."
		return errNotFound
	case a.status == http.StatusPreconditionFailed:
		return errChanged // the API's sentence is for those who send If-Match themselves
	case a.status >= http.StatusBadRequest:
		var p struct { // of internal/problem
			Detail     string
			Transcript *api.Transcript
		}
		_ = json.Unmarshal(a.body.Bytes(), &p) // without a sentence, the status has to do
		return &failure{status: a.status, Text: "Refused", Detail: p.Detail, Transcript: p.Transcript}
	}
	return nil
}

// get reads from the management API.
func (v *visitor) get(path string, query url.Values, into any) error {
	return v.call(http.MethodGet, path, query, nil, into)
}

// post sends the management API a body; nil: none. A form that is sent twice does nothing twice.
func (v *visitor) post(path string, body, into any) error {
	return v.call(http.MethodPost, path, nil, body, into)
}

// call asks the management API as the visitor, in this process. What it refuses is a *failure. What is changed must
// still have the visitor's version, where there is one.
func (v *visitor) call(method, path string, query url.Values, body, into any) error {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return err
		}
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	a, err := v.ask(method, target, sent)
	if err != nil {
		return fmt.Errorf("asking the management API: %w", err)
	}
	v.etag = a.header.Get("ETag")
	if err := a.refusal(); err != nil || into == nil || a.body.Len() == 0 {
		return err
	}
	if err := json.Unmarshal(a.body.Bytes(), into); err != nil {
		return fmt.Errorf("reading what the management API answered: %w", err)
	}
	return nil
}

// twinTime is how long a form that is sent twice waits for what its first request makes.
const twinTime = 30 * time.Second

// ask makes a request to the management API. That of a form that was sent twice, as by a double click, waits while the
// first one is answered, and gets the same answer.
func (v *visitor) ask(method, target string, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(v.Context(), twinTime)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(model.WithPerson(v.Context(), v.person), method, target, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body != nil {
			r.Header.Set("Content-Type", "application/json")
		}
		once := v.PostForm.Get("once")
		if method == http.MethodPost && once != "" {
			r.Header.Set("Idempotency-Key", once)
		}
		if v.version != "" && (method == http.MethodPut || method == http.MethodDelete) {
			r.Header.Set("If-Match", v.version)
		}
		if v.fresh && method == http.MethodPut {
			r.Header.Set("If-None-Match", "*")
		}
		a := &answer{header: http.Header{}}
		v.console.API.ServeHTTP(a, r)
		running := a.status == http.StatusConflict && a.header.Get("Retry-After") != "" && once != ""
		if !running || !wait.For(ctx, 100*time.Millisecond) {
			return a, nil
		}
	}
}

// at makes a path of the management API; each part is escaped.
func at(parts ...string) string { return "/v1" + pathOf(parts...) }

// exportPath returns the path of an export below the console's address, or of something below it.
func exportPath(tenant, uuid string, below ...string) string {
	return pathOf(append([]string{"exports", tenant, webhook.KeySegment(uuid)}, below...)...)
}

// exportAt returns the path of an export in the management API, or of something below it.
func exportAt(tenant, uuid string, below ...string) string {
	return at(append([]string{"tenants", tenant, "exports", webhook.KeySegment(uuid)}, below...)...)
}

// pathOf makes a path, below the console's address or the API's version; each part is escaped.
func pathOf(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}
