package signin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// userinfo answers whoever has an access token with what its scope tells of the user (OpenID Connect Core section 5.3).
func (p *Provider) userinfo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if r.Method == http.MethodOptions { // a browser asks first whether a script elsewhere may send the header
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization")
		w.Header().Set("Access-Control-Max-Age", "7200")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	token, status := bearer(r)
	if status != http.StatusOK {
		challengeBearer(w, status)
		return
	}
	g, err := p.db().AccessToken(r.Context(), p.Issuer, identity.HashSecret(token), p.now())
	if errors.Is(err, store.ErrNotFound) {
		challengeBearer(w, http.StatusForbidden)
		return
	}
	var u *identity.User
	if err == nil {
		u, err = p.db().User(r.Context(), g.UserID)
	}
	if err != nil {
		p.storeAway(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, claimsAbout(u, g.Scope, namedOf(g.Claims).Userinfo))
}

// bearer reads the access token, from the header or from the body of a POST (RFC 6750 section 2). The status says otherwise
// whether there is none (401), one that can't be good (403), or more than one (400).
func bearer(r *http.Request) (token string, status int) {
	headers := r.Header.Values("Authorization")
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "" {
		if sent, ok := form(r); ok {
			if repeated(sent) {
				return "", http.StatusBadRequest
			}
			token = sent.Get("access_token")
		}
	}
	switch {
	case len(headers) > 1, len(headers) == 1 && token != "":
		return "", http.StatusBadRequest
	case len(headers) == 1:
		scheme, value, _ := strings.Cut(headers[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", http.StatusUnauthorized
		}
		if value == "" {
			return "", http.StatusForbidden
		}
		return value, http.StatusOK
	case token == "":
		return "", http.StatusUnauthorized
	}
	return token, http.StatusOK
}

// challengeBearer answers as RFC 6750 section 3.1 has it: nothing of an error where no token was sent.
func challengeBearer(w http.ResponseWriter, status int) {
	const realm = `Bearer realm="sign-in"`
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", realm)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
	case http.StatusBadRequest:
		w.Header().Set("WWW-Authenticate", realm+`, error="invalid_request"`)
		writeError(w, status, "invalid_request", "send one access token, in one way")
	default:
		w.Header().Set("WWW-Authenticate", realm+`, error="invalid_token"`)
		writeError(w, http.StatusUnauthorized, "invalid_token", "this access token is not good, or no longer")
	}
}
