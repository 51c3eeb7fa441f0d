package signin

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// fault is an error answer to an application (RFC 6749 section 5.2).
type fault struct {
	status            int
	code, description string
}

var (
	errClient   = &fault{http.StatusUnauthorized, "invalid_client", "send the client's id and secret with HTTP Basic"}
	errGrant    = &fault{http.StatusBadRequest, "invalid_grant", "this is not good here, or no longer: begin anew with an authorization request"}
	errTwoWays  = &fault{http.StatusBadRequest, "invalid_request", "authenticate in one way"}
	errNotForm  = &fault{http.StatusBadRequest, "invalid_request", "send a body of type application/x-www-form-urlencoded, of at most 64 KiB"}
	errRepeated = &fault{http.StatusBadRequest, "invalid_request", "a parameter comes more than once"}
)

func (f *fault) write(w http.ResponseWriter) {
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="sign-in", charset="UTF-8"`)
	}
	writeError(w, f.status, f.code, f.description)
}

// asked reads the body of an application's request, and finds out who asks.
func (p *Provider) asked(w http.ResponseWriter, r *http.Request) (url.Values, *identity.Client, *fault, error) {
	sent, ok := form(r)
	if !ok {
		return nil, nil, errNotForm, nil
	}
	if repeated(sent) {
		return nil, nil, errRepeated, nil
	}
	c, f, err := p.authenticate(r, sent)
	return sent, c, f, err
}

// authenticate finds out which client asks (RFC 6749 section 2.3.1).
func (p *Provider) authenticate(r *http.Request, sent url.Values) (*identity.Client, *fault, error) {
	headers := r.Header.Values("Authorization")
	inBody, asserted := sent.Get("client_secret") != "", sent.Get("client_assertion") != ""
	var id, secret string
	switch {
	case len(headers) > 1, len(headers) == 1 && (inBody || asserted), inBody && asserted:
		return nil, errTwoWays, nil
	case len(headers) == 1:
		var ok bool
		if id, secret, ok = basic(headers[0]); !ok {
			return nil, errClient, nil
		}
		if named := sent.Get("client_id"); named != "" && named != id {
			return nil, errTwoWays, nil
		}
	case inBody:
		id, secret = sent.Get("client_id"), sent.Get("client_secret")
	default:
		return nil, errClient, nil
	}
	c, err := p.db().Client(r.Context(), id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (!c.DisabledAt.IsZero() || inBody && !c.SecretPost):
		return nil, errClient, nil
	case err != nil:
		return nil, nil, err
	}
	hashes, err := p.db().ClientSecrets(r.Context(), c.ID)
	if err != nil {
		return nil, nil, err
	}
	sentHash, good := identity.HashSecret(secret), 0
	for _, h := range hashes {
		good |= subtle.ConstantTimeCompare(h[:], sentHash[:])
	}
	if good == 0 {
		return c, errClient, nil
	}
	return c, nil, nil
}

// basic reads HTTP Basic as OAuth has it: id and secret are form-encoded within it.
func basic(header string) (id, secret string, ok bool) {
	scheme, credentials, _ := strings.Cut(header, " ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials))
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	user, pass, ok := strings.Cut(string(raw), ":")
	id, err1 := url.QueryUnescape(user)
	secret, err2 := url.QueryUnescape(pass)
	return id, secret, ok && err1 == nil && err2 == nil
}
