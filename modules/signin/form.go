package signin

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/bodies"
)

// maxForm is the largest body, in bytes; maxRequest that of an authorization request.
const (
	maxForm    = 64 << 10
	maxRequest = 16 << 10
)

// bodyName shares the memory for bodies with tenants, whose names have no slash.
const bodyName = "/signin"

// body reads the body of a request, a form, into memory. A handler gets an error when it reads a body that is too
// large, too slow or cut off. Call done after the request is answered. The error is bodies.ErrBusy: there is no memory
// for another body.
func (p *Provider) body(w http.ResponseWriter, r *http.Request) (done func(), err error) {
	body, err := p.Gateway.Runtime.Unverified.Read(w, r, bodies.Sender{Tenant: bodyName, Address: p.Address(r)}, maxForm)
	switch {
	case errors.Is(err, bodies.ErrBusy):
		return nil, err
	case err != nil:
		unread, failed := io.Pipe()
		r.Body = unread
		return func() {}, failed.CloseWithError(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	return body.Release, nil
}

// form reads a body of type application/x-www-form-urlencoded, and nothing of the query. It reports false for any other
// body, and for one that is too large or cut off.
func form(r *http.Request) (url.Values, bool) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return nil, false
	}
	if r.ParseForm() != nil {
		// ParseForm fails for an invalid query, too.
		return nil, false
	}
	return r.PostForm, true
}

// repeated reports whether a parameter occurs more than once (RFC 6749 section 3.1 and 3.2).
func repeated(v url.Values) bool {
	for _, values := range v {
		if len(values) > 1 {
			return true
		}
	}
	return false
}

// ownForm passes on forms that were sent from a page of ours: browsers report where a form comes from. Other clients
// have no cookie to abuse.
func (p *Provider) ownForm(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.guard.Check(r) != nil {
			p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.ForeignTitle, t.Foreign })
			return
		}
		if _, ok := form(r); !ok {
			p.untrustedPage(w, r)
			return
		}
		next(w, r)
	}
}
