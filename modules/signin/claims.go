package signin

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
)

// scopes are the scopes that we know. Others are ignored (OpenID Connect Core section 3.1.2.1).
var scopes = []string{"openid", "profile", "email", "groups", "offline_access"}

// knownScope returns the scopes that we know, without repetition.
func knownScope(scope string) string {
	var known []string
	for _, s := range strings.Fields(scope) {
		if slices.Contains(scopes, s) && !slices.Contains(known, s) {
			known = append(known, s)
		}
	}
	return strings.Join(known, " ")
}

// covers reports whether a scope contains all of another one.
func covers(had, wanted string) bool {
	all := strings.Fields(had)
	return !slices.ContainsFunc(strings.Fields(wanted), func(s string) bool { return !slices.Contains(all, s) })
}

// userClaims are the claims about a user, and the scope that each comes with.
var userClaims = []struct {
	name, scope string
	of          func(*identity.User) any
}{
	{"name", "profile", func(u *identity.User) any { return u.Name }},
	{"given_name", "profile", func(u *identity.User) any { return u.GivenName }},
	{"family_name", "profile", func(u *identity.User) any { return u.FamilyName }},
	{"email", "email", func(u *identity.User) any { return u.Email }},
	{"groups", "groups", func(u *identity.User) any { return u.AllGroups() }},
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

// requestedClaims are the names of the claims that a request asks for (OpenID Connect Core section 5.5).
type requestedClaims struct {
	IDToken  []string `json:"id_token,omitempty"`
	Userinfo []string `json:"userinfo,omitempty"`

	subject     string // the only user who may sign in; empty: any
	mustHaveACR bool   // acr is essential, with a value
}

// parseClaims reads the parameter claims. Unknown claims are ignored. It reports false if it is not such an object, or
// names two users.
func parseClaims(s string) (n requestedClaims, ok bool) {
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

// names reports whether a claim is requested by its name.
func (n requestedClaims) names(claim string) bool {
	return slices.Contains(n.IDToken, claim) || slices.Contains(n.Userinfo, claim)
}

// format returns the names in the form that is stored with a grant; parseStoredClaims parses them.
func (n requestedClaims) format() string {
	if n.IDToken == nil && n.Userinfo == nil {
		return ""
	}
	raw, _ := json.Marshal(n) // lists of strings
	return string(raw)
}

func parseStoredClaims(stored string) (n requestedClaims) {
	if stored != "" {
		_ = json.Unmarshal([]byte(stored), &n) // we wrote it
	}
	return n
}
