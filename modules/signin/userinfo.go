package signin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// userinfo answers the holder of an access token with the claims of its scope (OpenID Connect Core section 5.3).
func (p *Provider) userinfo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if r.Method == http.MethodOptions { // a browser asks first whether a script elsewhere may send the header
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization")
		w.Header().Set("Access-Control-Max-Age", "7200")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	token, refused := bearer(r)
	if refused != nil {
		refuseClient(w, refused)
		return
	}
	found, err := p.db().UpstreamSessionOfToken(r.Context(), identity.HashSecret(token))
	if _, err := p.confirmed(r, found, err); err != nil { // what has ended is revoked by now
		p.storeAway(w, r, err)
		return
	}
	g, err := p.db().AccessToken(r.Context(), p.Issuer, identity.HashSecret(token), p.now())
	if errors.Is(err, store.ErrNotFound) {
		refuseClient(w, errToken)
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
	writeJSON(w, http.StatusOK, claimsAbout(u, g.Scope, parseStoredClaims(g.Claims).Userinfo))
}

// bearer reads the access token, from the header or from the body of a POST (RFC 6750 section 2). The problem is
// errNoToken, errToken or errTwoTokens.
func bearer(r *http.Request) (token string, refused *problem.Problem) {
	headers := r.Header.Values("Authorization")
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "" {
		if sent, ok := form(r); ok {
			if repeated(sent) {
				return "", errTwoTokens
			}
			token = sent.Get("access_token")
		}
	}
	switch {
	case len(headers) > 1, len(headers) == 1 && token != "":
		return "", errTwoTokens
	case len(headers) == 1:
		scheme, value, _ := strings.Cut(headers[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", errNoToken
		}
		if value == "" {
			return "", errToken
		}
		return value, nil
	case token == "":
		return "", errNoToken
	}
	return token, nil
}
