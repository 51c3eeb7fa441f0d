package signin_test

import (
	"encoding/base64"
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

// "token: no or wrong client authentication | 401 invalid_client + WWW-Authenticate: Basic"
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableClient("other", b.Now()); return err })
	code := b.browser().enter(base()).Get("code")
	header := func(value ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Authorization"] = value }
	}
	raw := func(credentials string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	first := ""
	for name, change := range map[string]func(*http.Request){
		"none": header(), "unknown": header(raw("nobody:x")), "wrong": header(raw("app:x")), "empty": header(raw("app:")),
		"no colon": header(raw("app")), "another's": header(raw("app:posting-secret%25%2B")),
		"disabled": header(raw("other:other-secret%25%2B")), "not encoded": header(raw("app:" + secretOf("app"))),
		"broken encoding": header(raw("app:%zz")),
		"Bearer":          header("Bearer x"), "no base64": header("Basic ???"), "nothing": header(""),
		"hash": header(raw("app:\x00")),
	} {
		w := b.post(tokenPath, "", exchanging(code), change)
		said := requireFault(t, w, http.StatusUnauthorized, "invalid_client")
		require.Equal(t, `Basic realm="sign-in", charset="UTF-8"`, w.Header().Get("WWW-Authenticate"), name)
		if first == "" {
			first = w.Body.String()
		}
		require.Equal(t, first, w.Body.String(), said)
	}
	for _, client := range []string{"app", "posting"} { // "client_secret_post only for a client where it is switched on"
		v := exchanging(b.browser().enter(base().with(params{"client_id": client})).Get("code"))
		v.Set("client_id", client)
		v.Set("client_secret", secretOf(client))
		w := b.post(tokenPath, "", v)
		if client == "app" {
			requireFault(t, w, http.StatusUnauthorized, "invalid_client")
			require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
		} else {
			requireTokens(t, w)
		}
	}
	// "HTTP Basic always works (credentials percent-decoded)"; nothing of the above consumed the code.
	requireTokens(t, b.post(tokenPath, "", exchanging(code), header(raw("%61pp:app-secret%25%2B"))))
}

// The log of sign-ins can't be filled by somebody who knows a client's id: it takes in a hundred faults of one, and
// then one a second.
func TestLogOfFaultsIsBounded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	wrong := func(client string) {
		requireFault(t, b.post(tokenPath, "", url.Values{}, func(r *http.Request) { r.SetBasicAuth(client, "a guess") }),
			http.StatusUnauthorized, "invalid_client")
	}
	noted := func() int {
		page, _, err := b.Runtime.Store().ListSigninEntries(t.Context(), 0, 500)
		require.NoError(t, err)
		return len(page)
	}
	for range 130 {
		wrong("app")
	}
	require.Equal(t, 100, noted())
	wrong("posting")
	require.Equal(t, 101, noted(), "those of another client are seen")
	b.Clock.Advance(3 * time.Second)
	for range 10 {
		wrong("app")
	}
	require.Equal(t, 104, noted())
}

// Two secrets are good during a rotation.
func TestTwoSecrets(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertClientSecret("app", identity.HashSecret("second"), b.Now().Add(time.Second))
	})
	with := func(secret string) int {
		return b.post(tokenPath, "", exchanging("x"),
			func(r *http.Request) { r.SetBasicAuth("app", url.QueryEscape(secret)) }).Code
	}
	require.Equal(t, http.StatusBadRequest, with(secretOf("app")))
	require.Equal(t, http.StatusBadRequest, with("second"))
	b.Write(t, func(tx *store.Tx) error { return tx.DeleteOlderClientSecrets("app") })
	require.Equal(t, http.StatusUnauthorized, with(secretOf("app")))
	require.Equal(t, http.StatusBadRequest, with("second"))
}

// "code unknown, expired (5 min), used, of another client, other redirect_uri, PKCE fails | 400 invalid_grant, one
// description for all"
func TestInvalidGrant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	v := strings.Repeat("verifier-", 5)
	code := func(more params) string { return b.browser().enter(base().with(more)).Get("code") }
	proof := params{"code_challenge": s256(v), "code_challenge_method": "S256"}
	plain, proved := code(nil), code(proof)
	used := code(nil)
	requireTokens(t, b.exchange("app", used))
	sent := func(code string, more params) url.Values {
		form := exchanging(code)
		for name, value := range more {
			form.Set(name, value)
		}
		return form
	}
	said := map[string]bool{}
	for name, form := range map[string]url.Values{
		"unknown": exchanging("x"), "used": exchanging(used), "another's": exchanging(code(params{"client_id": "other"})),
		"other redirect_uri":      sent(plain, params{"redirect_uri": "http://localhost:8090/callback"}),
		"no redirect_uri like it": sent(plain, params{"redirect_uri": callback + "/"}),
		"no verifier":             exchanging(proved), "wrong verifier": sent(proved, params{"code_verifier": v + "x"}),
		"the challenge itself": sent(proved, params{"code_verifier": s256(v)}),
		"short verifier":       sent(proved, params{"code_verifier": "x"}),
		"verifier for none":    sent(plain, params{"code_verifier": v}),
	} {
		said[requireFault(t, b.post(tokenPath, "app", form), http.StatusBadRequest, "invalid_grant")+name[:0]] = true
	}
	requireTokens(t, b.post(tokenPath, "app", sent(proved, params{"code_verifier": v})))
	b.Clock.Advance(identity.CodeLife + time.Second)
	said[requireFault(t, b.exchange("app", plain), http.StatusBadRequest, "invalid_grant")] = true
	require.Len(t, said, 1)
}

// The contract's limit: five minutes. One second before its end a code works, one second after it does not.
func TestCodeLifetime(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	early, late := b.browser().enter(base()).Get("code"), b.browser().enter(base()).Get("code")
	b.Clock.Advance(5*time.Minute - time.Second)
	requireTokens(t, b.exchange("app", early))
	b.Clock.Advance(2 * time.Second)
	requireFault(t, b.exchange("app", late), http.StatusBadRequest, "invalid_grant")
}

// "code used twice | invalid_grant, and every token issued from it is revoked"
func TestCodeUsedTwice(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	code := b.browser().enter(base()).Get("code")
	first := requireTokens(t, b.exchange("app", code))
	second := requireTokens(t, b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {first.RefreshToken}}))
	b.requireGood(first.AccessToken)
	b.requireGood(second.AccessToken)
	requireFault(t, b.exchange("other", code), http.StatusBadRequest, "invalid_grant")
	b.requireGood(second.AccessToken) // another client, to which the code came, can't end what is not its own
	again := exchanging(code)
	again.Set("code_verifier", "not one at all") // whatever else is wrong with the request
	requireFault(t, b.post(tokenPath, "app", again), http.StatusBadRequest, "invalid_grant")
	b.requireRevoked(first.AccessToken)
	b.requireRevoked(second.AccessToken)
	requireFault(t, b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {second.RefreshToken}}), http.StatusBadRequest, "invalid_grant")
}

// "missing grant_type, code or redirect_uri; two ways of authentication; repeated parameter; not form-urlencoded | 400
// invalid_request"
func TestInvalidTokenRequest(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	code := b.browser().enter(base()).Get("code")
	without := func(name string) url.Values {
		v := exchanging(code)
		v.Del(name)
		return v
	}
	twice := exchanging(code)
	twice.Add("code", code)
	unknownTwice := exchanging(code)
	unknownTwice["x"] = []string{"", ""}
	inBody := exchanging(code)
	inBody["client_id"], inBody["client_secret"] = []string{"app"}, []string{secretOf("app")}
	asserted := exchanging(code)
	asserted["client_id"], asserted["client_secret"], asserted["client_assertion"] = []string{"posting"},
		[]string{secretOf("posting")}, []string{"x"}
	otherID := exchanging(code)
	otherID.Set("client_id", "other")
	as := func(kind ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Content-Type"] = kind }
	}
	asIs := func(*http.Request) {}
	for name, c := range map[string]struct {
		form   url.Values
		change func(*http.Request)
	}{
		"grant_type": {without("grant_type"), asIs}, "code": {without("code"), asIs},
		"redirect_uri": {without("redirect_uri"), asIs},
		"repeated":     {twice, asIs}, "unknown repeated": {unknownTwice, asIs}, "two ways": {inBody, asIs},
		"two ways in the body": {asserted, func(r *http.Request) { r.Header.Del("Authorization") }},
		"two ids":              {otherID, asIs},
		"two headers": {exchanging(code),
			func(r *http.Request) { r.Header.Add("Authorization", r.Header.Get("Authorization")) }},
		"JSON": {exchanging(code), as("application/json")}, "no type": {exchanging(code), as()},
		"multipart":    {exchanging(code), as("multipart/form-data; boundary=x")},
		"too large":    {url.Values{"x": {strings.Repeat("x", 65<<10)}}, asIs},
		"in the query": {url.Values{}, func(r *http.Request) { r.URL.RawQuery = exchanging(code).Encode() }},
	} {
		require.NotEmpty(t, requireFault(t, b.post(tokenPath, "app", c.form, c.change), http.StatusBadRequest,
			"invalid_request"), name)
	}
	sameID := exchanging(code)
	sameID.Set("client_id", "app")
	requireTokens(t, b.post(tokenPath, "app", sameID, as("application/x-www-form-urlencoded; charset=UTF-8")))
}

// "other grant_type (authorization_code, refresh_token are known) | 400 unsupported_grant_type"
func TestUnsupportedGrantType(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, kind := range []string{"password", "client_credentials", "implicit", "Authorization_Code",
		"urn:ietf:params:oauth:grant-type:jwt-bearer"} {
		requireFault(t, b.post(tokenPath, "app", url.Values{"grant_type": {kind}}), http.StatusBadRequest,
			"unsupported_grant_type")
	}
}

// "GET | 405 + Allow: POST"
func TestTokenByGet(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, path := range []string{tokenPath, "/oauth/revoke"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, path+"?"+exchanging("x").Encode(), nil)
			r.SetBasicAuth("app", url.QueryEscape(secretOf("app")))
			b.Provider.ServeHTTP(w, r)
			requireFault(t, w, http.StatusMethodNotAllowed, "invalid_request")
			require.Equal(t, "POST", w.Header().Get("Allow"))
		}
	}
	for path, allow := range map[string]string{"/oauth/authorize": "GET, HEAD, POST", "/oauth/jwks": "GET, HEAD",
		"/oauth/sign-in": "POST", "/oauth/userinfo": "GET, HEAD, POST, OPTIONS"} {
		w := httptest.NewRecorder()
		b.Provider.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, path, nil))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, allow, w.Header().Get("Allow"))
	}
	require.Equal(t, http.StatusNotFound, b.get("/oauth/token").Code)
}

// "userinfo without / with a bad token | 401 + WWW-Authenticate: Bearer (error="invalid_token")"
// A browser asks first whether a script of another site may send its access token.
func TestUserinfoForScripts(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	w := httptest.NewRecorder()
	b.Provider.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, "/oauth/userinfo", nil))
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Authorization", w.Header().Get("Access-Control-Allow-Headers"))
	require.Equal(t, "*", b.userinfo("x").Header().Get("Access-Control-Allow-Origin"))
}

func TestUserinfoRefuses(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	issued := b.flow(base())
	requireNoToken := func(w *httptest.ResponseRecorder) {
		require.Equal(t, http.StatusUnauthorized, w.Code)
		require.Equal(t, `Bearer realm="sign-in"`, w.Header().Get("WWW-Authenticate"))
		require.Empty(t, w.Body.String(), "RFC 6750 section 3.1: no error where no token was sent")
	}
	requireNoToken(b.get("/oauth/userinfo"))
	for _, bad := range []string{"x", issued.AccessToken + "x", issued.RefreshToken, issued.IDToken, "",
		issued.AccessToken + " "} {
		w := b.userinfo(bad)
		requireFault(t, w, http.StatusUnauthorized, "invalid_token")
		require.Equal(t, `Bearer realm="sign-in", error="invalid_token"`, w.Header().Get("WWW-Authenticate"), bad)
	}
	w := b.get("/oauth/userinfo", "Bearer "+issued.AccessToken, "Bearer "+issued.AccessToken)
	requireFault(t, w, http.StatusBadRequest, "invalid_request")
	w = b.post("/oauth/userinfo", "", url.Values{"access_token": {issued.AccessToken}},
		func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+issued.AccessToken) })
	requireFault(t, w, http.StatusBadRequest, "invalid_request")
	requireNoToken(b.get("/oauth/userinfo?access_token=" + issued.AccessToken))
	// "Access token 1 h"
	b.Clock.Advance(time.Hour - time.Second)
	b.requireGood(issued.AccessToken)
	b.Clock.Advance(2 * time.Second)
	b.requireRevoked(issued.AccessToken)
}

// A user or a client that is disabled gets nothing any more, and what they got is revoked.
func TestDisabled(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	issued := b.flow(base())
	u := b.browser()
	code := u.enter(base()).Get("code")
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-ada", b.Now()); return err })
	b.requireRevoked(issued.AccessToken)
	requireFault(t, b.exchange("app", code), http.StatusBadRequest, "invalid_grant")
	requireFault(t, b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {issued.RefreshToken}}), http.StatusBadRequest, "invalid_grant")
	page := u.authorize(base())
	requirePage(t, page, http.StatusOK, `id="password"`)
	requirePage(t, u.signIn(page, "ada@example.com", right), http.StatusForbidden)
}

// What is issued at one issuer is good at no other, though both have the same users and clients.
func TestTwoIssuers(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	second := b.provider("https://gate.example.com/second")
	u := b.browser()
	got := u.enter(base())
	issued := requireTokens(t, b.exchange("app", u.enter(base().with(params{"prompt": "login"})).Get("code")))
	first := b.Provider
	b.Provider = second
	requireFault(t, b.exchange("app", got.Get("code")), http.StatusBadRequest, "invalid_grant")
	b.requireRevoked(issued.AccessToken)
	requireFault(t, b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {issued.RefreshToken}}), http.StatusBadRequest, "invalid_grant")
	u.p = second
	requirePage(t, u.authorize(base()), http.StatusOK, `id="password"`)
	for name, value := range u.cookies { // even under the second one's name
		require.NotContains(t, name, value)
	}
	require.Contains(t, b.get("/.well-known/openid-configuration").Body.String(),
		`"issuer":"https://gate.example.com/second"`)
	b.Provider = first
	requireTokens(t, b.exchange("app", got.Get("code")))
}
