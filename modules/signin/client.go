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

// readClientRequest reads the body of an application's request, and authenticates the client. After a wrong secret it
// returns the client as well.
func (p *Provider) readClientRequest(w http.ResponseWriter, r *http.Request) (url.Values, *identity.Client, error) {
	sent, ok := form(r)
	if !ok {
		return nil, nil, errNotForm
	}
	if repeated(sent) {
		return nil, nil, errRepeated
	}
	c, err := p.authenticate(r, sent)
	return sent, c, err
}

// authenticate returns the client that sent the request (RFC 6749 section 2.3.1).
func (p *Provider) authenticate(r *http.Request, sent url.Values) (*identity.Client, error) {
	headers := r.Header.Values("Authorization")
	inBody, asserted := sent.Get("client_secret") != "", sent.Get("client_assertion") != ""
	var id, secret string
	switch {
	case len(headers) > 1, len(headers) == 1 && (inBody || asserted), inBody && asserted:
		return nil, errTwoWays
	case len(headers) == 1:
		var ok bool
		if id, secret, ok = basic(headers[0]); !ok {
			return nil, errClient
		}
		if named := sent.Get("client_id"); named != "" && named != id {
			return nil, errTwoWays
		}
	case inBody:
		id, secret = sent.Get("client_id"), sent.Get("client_secret")
	default:
		return nil, errClient
	}
	c, err := p.db().Client(r.Context(), id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (!c.DisabledAt.IsZero() || inBody && !c.SecretPost):
		return nil, errClient
	case err != nil:
		return nil, err
	}
	hashes, err := p.db().ListClientSecrets(r.Context(), c.ID)
	if err != nil {
		return nil, err
	}
	sentHash, good := identity.HashSecret(secret), 0
	for _, h := range hashes {
		good |= subtle.ConstantTimeCompare(h[:], sentHash[:])
	}
	if good == 0 {
		return c, errClient
	}
	return c, nil
}

// basic reads HTTP Basic as OAuth defines it: id and secret are form-encoded within it.
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
