package signin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// scopes are the scopes that we know. Others are ignored (OpenID Connect Core section 3.1.2.1).
var scopes = []string{"openid", "profile", "email", "offline_access"}

// userClaims are the claims about a user, and the scope that each comes with.
var userClaims = []struct {
	name, scope string
	of          func(*identity.User) any
}{
	{"name", "profile", func(u *identity.User) any { return u.Name }},
	{"given_name", "profile", func(u *identity.User) any { return u.GivenName }},
	{"family_name", "profile", func(u *identity.User) any { return u.FamilyName }},
	{"email", "email", func(u *identity.User) any { return u.Email }},
	{"email_verified", "email", func(u *identity.User) any { return u.EmailVerified }},
}

// claimsAbout returns the claims about a user that a scope and a list of claim names ask for. Empty claims are left
// out.
func claimsAbout(u *identity.User, scope string, names []string) map[string]any {
	claims := map[string]any{"sub": u.ID}
	granted := strings.Fields(scope)
	for _, c := range userClaims {
		if v := c.of(u); v != "" && (slices.Contains(granted, c.scope) || slices.Contains(names, c.name)) {
			claims[c.name] = v
		}
	}
	return claims
}

// named are the claims that a request asks for by name (OpenID Connect Core section 5.5).
type named struct {
	IDToken  []string `json:"id_token,omitempty"`
	Userinfo []string `json:"userinfo,omitempty"`

	subject     string // the only user it may be about; empty: any
	mustHaveACR bool   // acr is essential, with a value
}

// parseClaims reads the parameter claims. Unknown claims are ignored. It reports false if it is not such an object, or
// names two users.
func parseClaims(s string) (n named, ok bool) {
	if s == "" {
		return n, true
	}
	var in struct {
		IDToken  map[string]json.RawMessage `json:"id_token"`
		Userinfo map[string]json.RawMessage `json:"userinfo"`
	}
	if json.Unmarshal([]byte(s), &in) != nil {
		return n, false
	}
	for _, c := range userClaims {
		if _, ok := in.IDToken[c.name]; ok {
			n.IDToken = append(n.IDToken, c.name)
		}
		if _, ok := in.Userinfo[c.name]; ok {
			n.Userinfo = append(n.Userinfo, c.name)
		}
	}
	for _, part := range []map[string]json.RawMessage{in.IDToken, in.Userinfo} {
		raw, ok := part["sub"]
		if !ok {
			continue
		}
		var sub struct {
			Value string `json:"value"`
		}
		if json.Unmarshal(raw, &sub) != nil || sub.Value != "" && n.subject != "" && sub.Value != n.subject {
			return n, false
		}
		n.subject = cmp.Or(n.subject, sub.Value)
	}
	if raw, ok := in.IDToken["acr"]; ok {
		var acr struct {
			Essential bool  `json:"essential"`
			Value     any   `json:"value"`
			Values    []any `json:"values"`
		}
		if json.Unmarshal(raw, &acr) != nil {
			return n, false
		}
		n.mustHaveACR = acr.Essential && (acr.Value != nil || len(acr.Values) > 0)
	}
	return n, true
}

// kept formats the names as they are stored with a grant; namedOf parses them.
func (n named) kept() string {
	if n.IDToken == nil && n.Userinfo == nil {
		return ""
	}
	raw, _ := json.Marshal(n) // lists of strings
	return string(raw)
}

func namedOf(kept string) (n named) {
	if kept != "" {
		_ = json.Unmarshal([]byte(kept), &n) // we wrote it
	}
	return n
}

// idToken makes an ID token (OpenID Connect Core section 2) for a grant. nonce is empty when it is refreshed.
func (p *Provider) idToken(k *key, g *identity.Grant, u *identity.User, scope, nonce, access string,
	now time.Time) (string, error) {
	claims := claimsAbout(u, scope, namedOf(g.Claims).IDToken)
	claims["iss"] = p.Issuer
	claims["aud"] = g.Client
	claims["iat"] = now.Unix()
	claims["exp"] = now.Add(identity.IDTokenLife).Unix()
	claims["auth_time"] = g.SignedInAt.Unix()
	if nonce != "" {
		claims["nonce"] = nonce
	}
	half := sha256.Sum256([]byte(access))
	claims["at_hash"] = base64.RawURLEncoding.EncodeToString(half[:len(half)/2])
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	return k.sign(raw)
}

// hinted returns the user and the client of an ID token of ours. It may have expired (OpenID Connect RP-Initiated
// Logout section 2). It reports false for tokens that we did not sign.
func (p *Provider) hinted(ctx context.Context, token string) (user, client string, ok bool) {
	raw, ok := p.Ring.verify(ctx, token)
	if !ok {
		return "", "", false
	}
	var claims struct{ Iss, Sub, Aud string }
	if json.Unmarshal(raw, &claims) != nil || claims.Iss != p.Issuer {
		return "", "", false
	}
	return claims.Sub, claims.Aud, true
}
