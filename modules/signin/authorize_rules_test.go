package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// "authorize: unknown client_id; redirect_uri missing or not byte-equal to a registered one | 400 HTML page, never a
// redirect"
func TestUntrustedRequest(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableClient("other", b.Now()); return err })
	for name, more := range map[string]params{
		"no client": {"client_id": ""}, "unknown": {"client_id": "nobody"}, "NUL": {"client_id": "app\x00"},
		"another case": {"client_id": "APP"}, "disabled": {"client_id": "other"},
		"none": {"redirect_uri": ""}, "slash": {"redirect_uri": callback + "/"},
		"query": {"redirect_uri": callback + "?a=b"}, "case": {"redirect_uri": "https://APP.example.com/callback"},
		"prefix": {"redirect_uri": callback[:len(callback)-1]},
		"port":   {"redirect_uri": "https://app.example.com:443/callback"}, "fragment": {"redirect_uri": callback + "#"},
		"encoded":       {"redirect_uri": "https://app.example.com/%63allback"},
		"loopback port": {"redirect_uri": "http://localhost:8091/callback"},
		"user":          {"redirect_uri": "https://app.example.com@evil.example/callback"},
		"dots":          {"redirect_uri": "https://app.example.com/x/../callback"},
	} {
		for _, prompt := range []string{"", "none"} {
			p := base().with(more).with(params{"prompt": prompt})
			requirePage(t, b.browser().authorize(p), http.StatusBadRequest, "<!doctype html>", "This link doesn’t lead anywhere")
			require.Contains(t, b.browser().ask(http.MethodPost, "/oauth/authorize", p.values()).Header().Get("Location"),
				issuer+"/oauth/authorize?", name)
		}
	}
	for _, twice := range []string{"client_id", "redirect_uri"} {
		v := base().values()
		v.Add(twice, v.Get(twice))
		requirePage(t, b.get("/oauth/authorize?"+v.Encode()), http.StatusBadRequest)
	}
	for _, client := range []string{"nobody", "%zz"} {
		requirePage(t,
			b.get("/oauth/authorize?client_id="+client+"&"+base().with(params{"client_id": ""}).values().Encode()+"&x=%zz"),
			http.StatusBadRequest)
	}
	requirePage(t, b.get("/oauth/authorize?redirect_uri=%zz&"+base().with(params{"redirect_uri": ""}).values().Encode()),
		http.StatusBadRequest)
	requirePage(t, b.get("/oauth/authorize?"+base().with(params{"x": strings.Repeat("x", 16<<10)}).values().Encode()),
		http.StatusBadRequest)
}

// The rows of authorize that end with an error at the redirect URI.
func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := s256("a verifier of at least forty-three characters, so that it is one")
	for name, c := range map[string]struct {
		more params
		code string
	}{
		// "response_type missing / not code | redirect invalid_request / unsupported_response_type, with state and iss (RFC
		// 9207)"
		"response_type missing":  {params{"response_type": ""}, "invalid_request"},
		"response_type token":    {params{"response_type": "token"}, "unsupported_response_type"},
		"response_type hybrid":   {params{"response_type": "code id_token"}, "unsupported_response_type"},
		"response_mode fragment": {params{"response_mode": "fragment"}, "invalid_request"},
		// "scope without openid | redirect invalid_scope; unknown scopes ignored"
		"scope missing":        {params{"scope": ""}, "invalid_scope"},
		"scope without openid": {params{"scope": "profile email"}, "invalid_scope"},
		"scope almost openid":  {params{"scope": "OpenID openid2"}, "invalid_scope"},
		// "request / request_uri / registration | request_not_supported / request_uri_not_supported /
		// registration_not_supported"
		"request":      {params{"request": "eyJhbGciOiJub25lIn0.e30."}, "request_not_supported"},
		"request_uri":  {params{"request_uri": "https://app.example.com/r"}, "request_uri_not_supported"},
		"registration": {params{"registration": "{}"}, "registration_not_supported"},
		// "PKCE S256 optional, can be required per client, `plain` refused"
		"plain":                 {params{"code_challenge": good, "code_challenge_method": "plain"}, "invalid_request"},
		"plain by omission":     {params{"code_challenge": good}, "invalid_request"},
		"method alone":          {params{"code_challenge_method": "S256"}, "invalid_request"},
		"not a hash":            {params{"code_challenge": good + "=", "code_challenge_method": "S256"}, "invalid_request"},
		"PKCE required":         {params{"client_id": "proving"}, "invalid_request"},
		"prompt none and login": {params{"prompt": "none login"}, "invalid_request"},
		"prompt unknown":        {params{"prompt": "dance"}, "invalid_request"},
		"max_age negative":      {params{"max_age": "-1"}, "invalid_request"},
		"max_age with a sign":   {params{"max_age": "+5"}, "invalid_request"},
		"max_age words":         {params{"max_age": "soon"}, "invalid_request"},
		"claims no JSON":        {params{"claims": "{"}, "invalid_request"},
		"acr that must be": {params{"claims": `{"id_token":{"acr":{"essential":true,"values":["urn:mfa"]}}}`},
			"unmet_authentication_requirements"},
		"two users": {params{"claims": `{"id_token":{"sub":{"value":"a"}},"userinfo":{"sub":{"value":"b"}}}`},
			"invalid_request"},
		"acr no object":           {params{"claims": `{"id_token":{"acr":1}}`}, "invalid_request"},
		"nonce no text":           {params{"nonce": "\xff"}, "invalid_request"},
		"nonce NUL":               {params{"nonce": "a\x00"}, "invalid_request"},
		"hint of somebody else":   {params{"id_token_hint": "eyJhbGciOiJub25lIn0.e30."}, "invalid_request"},
		"prompt none, no session": {params{"prompt": "none"}, "login_required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, state := range []string{"", "a b&c=%/+ö\xff"} {
				for _, to := range []string{callback, callback + "?keep=%20this&x"} {
					p := base().with(c.more).with(params{"redirect_uri": to, "state": state})
					requireError(t, (&browser{b: b, p: b.Provider}).authorize(p), p, c.code)
				}
			}
		})
	}
}

// A session is of whom a request is about, wherever it says so.
func TestNamedSubject(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(base())
	for claims, good := range map[string]bool{
		`{"id_token":{"sub":{"value":"user-ada"}},"userinfo":{"sub":{"value":"user-ada"}}}`: true,
		`{"userinfo":{"sub":{"value":"user-ada"}}}`:                                         true, `{"userinfo":{"sub":null},"id_token":{"sub":null}}`: true,
		`{"id_token":{"sub":{"value":"user-bob"}}}`: false, `{"userinfo":{"sub":{"value":"user-bob"}}}`: false,
	} {
		p := base().with(params{"claims": claims, "prompt": "none"})
		if w := u.authorize(p); good {
			require.NotEmpty(t, back(t, w, callback).Get("code"), claims)
		} else {
			requireError(t, w, p, "login_required")
		}
	}
}

// What asks for nothing is granted: an acr of no value, and a max_age beyond all bounds.
func TestWishesOfNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(base())
	for _, more := range []params{
		{"claims": `{"id_token":{"acr":{"essential":true,"value":null}}}`},
		{"claims": `{"id_token":{"acr":{"essential":true,"values":[]}}}`}, {"claims": `{"id_token":{"acr":null}}`},
		{"max_age": "2147483648"}, {"max_age": "18446744073709551615"},
	} {
		b.Clock.Advance(time.Second)
		require.NotEmpty(t, back(t, u.authorize(base().with(more)), callback).Get("code"), more)
	}
}

// A known client is told of a query that can't be read, with the state where that can (RFC 6749 section 4.1.2.1).
func TestMalformedQuery(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, wrong := range []string{"x=%zz", "x=%", "x=a;b", "nonce=%2", "redirect_uri=%zz"} {
		requireError(t, b.get("/oauth/authorize?"+wrong+"&"+base().values().Encode()), base(), "invalid_request")
	}
	stateless := base().with(params{"state": ""})
	requireError(t, b.get("/oauth/authorize?state=%zz&"+stateless.values().Encode()), stateless, "invalid_request")
}

// "duplicate parameter | invalid_request"
func TestDuplicateParameter(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, name := range []string{"response_type", "scope", "nonce", "prompt", "anything", "state"} {
		v := base().values()
		v[name] = []string{base()[name], base()[name]}
		w := b.get("/oauth/authorize?" + v.Encode())
		got := back(t, w, callback)
		require.Equal(t, "invalid_request", got.Get("error"), name)
		require.Equal(t, name != "state", got.Has("state"), "a state that comes twice is not echoed, any other one is")
	}
}

// "prompt=none without session | login_required; with consent missing: consent_required"
func TestPromptNone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	none := base().with(params{"prompt": "none"})
	requireError(t, u.authorize(none), none, "login_required")
	u.enter(base())
	require.NotEmpty(t, back(t, u.authorize(none), callback).Get("code"))
	asking := none.with(params{"client_id": "asking"})
	requireError(t, u.authorize(asking), asking, "consent_required")
	b.Clock.Advance(identity.SessionLife)
	requireError(t, u.authorize(none), none, "login_required")
}

// "No consent page unless a client asks for one."
func TestConsent(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	p := base().with(params{"client_id": "asking", "scope": "openid email"})
	w := u.signIn(u.authorize(p), "ada@example.com", right)
	requirePage(t, w, http.StatusOK, "Payroll &lt;asking&gt; will learn from Initech Recruiting", "your e-mail address",
		"this also while you are away or signed out")
	require.NotContains(t, w.Body.String(), "your name")
	agree := func(u *browser, page *httptest.ResponseRecorder, action string) *httptest.ResponseRecorder {
		return u.submit(page, `value="allow"`, url.Values{"action": {action}})
	}
	answer := func(action string) *httptest.ResponseRecorder { return agree(u, w, action) }
	requireError(t, answer("cancel"), p, "access_denied")
	requireError(t, answer(""), p, "access_denied")
	require.NotEmpty(t, back(t, answer("allow"), callback).Get("code"))
	require.NotEmpty(t, back(t, u.authorize(p), callback).Get("code"), "they are asked again")
	require.NotEmpty(t, back(t, u.authorize(p.with(params{"scope": "openid"})), callback).Get("code"))
	requirePage(t, u.authorize(p.with(params{"scope": "openid profile"})), http.StatusOK, "your name")
	requirePage(t, u.authorize(p.with(params{"prompt": "consent"})), http.StatusOK, "your e-mail address")
	requirePage(t, agree(b.browser(), w, "allow"), http.StatusOK, `id="password"`)
	// Nobody agrees for who has signed in since.
	bob := u.signIn(u.authorize(p.with(params{"prompt": "login"})), "bob@example.com", right)
	requirePage(t, bob, http.StatusOK, "your e-mail address")
	requirePage(t, answer("allow"), http.StatusOK, `id="password"`)
	// Where a new sign-in is asked for, the page of an old one is not enough.
	require.NotEmpty(t, back(t, agree(u, bob, "allow"), callback).Get("code"))
	b.Clock.Advance(6 * time.Minute)
	requirePage(t, agree(u, bob, "allow"), http.StatusOK, `id="password"`, "That took too long. Sign in again.")
}

// What a request names as claims is asked for as its scope is.
func TestConsentToNamedClaims(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	p := base().with(params{"client_id": "asking", "scope": "openid"})
	w := u.signIn(u.authorize(p), "ada@example.com", right)
	agree := func(w *httptest.ResponseRecorder) {
		require.NotEmpty(t, back(t, u.submit(w, `value="allow"`, url.Values{"action": {"allow"}}), callback).Get("code"))
	}
	agree(w)
	for _, claims := range []string{`{"id_token":{"email":null}}`, `{"userinfo":{"email":null}}`} {
		named := p.with(params{"claims": claims})
		requireError(t, u.authorize(named.with(params{"prompt": "none"})), named, "consent_required")
		w = u.authorize(named)
		requirePage(t, w, http.StatusOK, "your e-mail address")
		require.NotContains(t, w.Body.String(), "your name")
	}
	agree(w)
	require.NotEmpty(t, back(t, u.authorize(p.with(params{"scope": "openid email"})), callback).Get("code"))
	requirePage(t, u.authorize(p.with(params{"claims": `{"userinfo":{"given_name":null}}`})), http.StatusOK, "your name")
}

// "prompt=login, max_age | sign in again; auth_time must be newer"
func TestSignInAgain(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	first := b.claims(requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken)
	b.Clock.Advance(10 * time.Second)
	for name, more := range map[string]params{"login": {"prompt": "login"}, "max_age": {"max_age": "9"},
		"max_age 0": {"max_age": "0"}, "select": {"prompt": "select_account"}} {
		b.Clock.Advance(10 * time.Second)
		again := b.claims(requireTokens(t, b.exchange("app", u.enter(base().with(more)).Get("code"))).IDToken)
		require.Greater(t, again["auth_time"], first["auth_time"], name)
		require.Equal(t, float64(b.Now().Unix()), again["auth_time"])
	}
	b.Clock.Advance(10 * time.Second)
	require.NotEmpty(t, back(t, u.authorize(base().with(params{"max_age": "10"})), callback).Get("code"))
	none := base().with(params{"max_age": "9", "prompt": "none"})
	requireError(t, u.authorize(none), none, "login_required")
}

// "user cancels | access_denied"
func TestCancel(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	p := base()
	w := u.submit(u.authorize(p), `id="password"`, url.Values{"email": {""}, "password": {""}, "action": {"cancel"}})
	require.Equal(t, http.StatusSeeOther, w.Code)
	requireError(t, w, p, "access_denied")
	require.Empty(t, u.cookies)
}
