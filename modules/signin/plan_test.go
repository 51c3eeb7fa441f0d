package signin_test

// The mirror of the OpenID Foundation's basic OP plan: one function for each of its modules that apply to the code
// flow, under its name, with the condition that it sets.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// all asks for every scope that is known.
func all() params { return base().with(params{"scope": "openid profile email offline_access"}) }

// oidcc-server: "makes a request with response_type=code, exchanges the code, checks the ID token and calls the
// userinfo endpoint; the sub of both is the same".
func TestPlanServer(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	issued := b.flow(all())
	claims := b.claims(issued.IDToken)
	require.Equal(t, issuer, claims["iss"])
	require.Equal(t, "app", claims["aud"])
	require.Equal(t, "n-1", claims["nonce"])
	var about map[string]any
	require.NoError(t, json.Unmarshal(b.userinfo(issued.AccessToken).Body.Bytes(), &about))
	require.Equal(t, claims["sub"], about["sub"])
}

// oidcc-response-type-missing: "an authorization request without response_type is answered with an error".
func TestPlanResponseTypeMissing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"response_type": ""})
	requireError(t, b.browser().authorize(p), p, "invalid_request")
}

// oidcc-idtoken-signature: "the ID token is signed with RS256 and has the kid of a key in jwks_uri".
func TestPlanIDTokenSignature(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for client, algorithm := range map[string]string{"app": "RS256", "curved": "ES256"} {
		token := b.flow(base().with(params{"client_id": client})).IDToken
		b.claims(token)
		signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(algorithm)})
		require.NoError(t, err)
		require.NotEmpty(t, signed.Signatures[0].Header.KeyID)
		require.Equal(t, "JWT", signed.Signatures[0].Header.ExtraHeaders["typ"])
	}
}

// oidcc-userinfo-get: "userinfo is called with GET and the access token as Bearer".
func TestPlanUserinfoGet(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	w := b.userinfo(b.flow(all()).AccessToken)
	require.Equal(t, http.StatusOK, w.Code)
	requireJSON(t, w)
	require.Contains(t, w.Body.String(), `"sub":"user-ada"`)
}

// oidcc-userinfo-post-header: "userinfo is called with POST and the access token as Bearer".
func TestPlanUserinfoPostHeader(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	access := b.flow(all()).AccessToken
	for _, kind := range []string{"", "application/x-www-form-urlencoded"} {
		w := b.post("/oauth/userinfo", "", nil, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+access)
			r.Header.Set("Content-Type", kind)
		})
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), `"sub":"user-ada"`)
	}
}

// oidcc-userinfo-post-body: "userinfo is called with POST and the access token as form parameter".
func TestPlanUserinfoPostBody(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	w := b.post("/oauth/userinfo", "", url.Values{"access_token": {b.flow(all()).AccessToken}})
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `"sub":"user-ada"`)
}

// oidcc-ensure-request-without-nonce-succeeds: "nonce is optional in the code flow, and the ID token has none then".
func TestPlanEnsureRequestWithoutNonceSucceeds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NotContains(t, b.claims(b.flow(base().with(params{"nonce": ""})).IDToken), "nonce")
}

func (b *fixture) about(scope string) map[string]any {
	var about map[string]any
	require.NoError(b.t, json.Unmarshal(b.userinfo(b.flow(base().with(params{"scope": scope})).AccessToken).Body.Bytes(),
		&about))
	return about
}

// oidcc-scope-profile: "the claims of the scope profile are returned".
func TestPlanScopeProfile(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]any{"sub": "user-ada", "name": "Ada Lovelace", "given_name": "Ada",
		"family_name": "Lovelace"}, newFixture(t).about("openid profile"))
}

// oidcc-scope-email: "the claims of the scope email are returned, email_verified as a boolean".
func TestPlanScopeEmail(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]any{"sub": "user-ada", "email": "ada@example.com", "email_verified": true},
		newFixture(t).about("openid email"))
}

// oidcc-scope-address: "a request with the scope address succeeds, whether or not there is such a claim".
func TestPlanScopeAddress(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]any{"sub": "user-ada"}, newFixture(t).about("openid address"))
}

// oidcc-scope-phone: "a request with the scope phone succeeds, whether or not there is such a claim".
func TestPlanScopePhone(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]any{"sub": "user-ada"}, newFixture(t).about("openid phone"))
}

// oidcc-scope-all: "a request with all scopes succeeds".
func TestPlanScopeAll(t *testing.T) {
	t.Parallel()
	require.Len(t, newFixture(t).about("openid profile email address phone"), 6)
}

// oidcc-alternate-happy-flow: "the order of scopes and parameters does not matter".
func TestPlanAlternateHappyFlow(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	query := "state=s&redirect_uri=" + url.QueryEscape(callback) +
		"&client_id=app&scope=email+openid%20profile&response_type=code"
	page := u.ask(http.MethodGet, "/oauth/authorize?"+query, nil)
	requirePage(t, page, http.StatusOK)
	got := back(t, u.signIn(page, "ada@example.com", right), callback)
	require.Equal(t, "s", got.Get("state"))
	requireTokens(t, b.exchange("app", got.Get("code")))
}

// oidcc-display-page: "a request with display=page shows the page and succeeds".
func TestPlanDisplayPage(t *testing.T) {
	t.Parallel()
	newFixture(t).flow(base().with(params{"display": "page"}))
}

// oidcc-display-popup: "a request with display=popup shows the page and succeeds".
func TestPlanDisplayPopup(t *testing.T) {
	t.Parallel()
	newFixture(t).flow(base().with(params{"display": "popup"}))
}

// oidcc-prompt-login: "with prompt=login the user is asked though they are signed in, and the second ID token has a
// later auth_time".
func TestPlanPromptLogin(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	first := b.claims(requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken)
	b.Clock.Advance(time.Second)
	second := b.claims(requireTokens(t, b.exchange("app",
		u.enter(base().with(params{"prompt": "login"})).Get("code"))).IDToken)
	require.Greater(t, second["auth_time"], first["auth_time"])
	require.Equal(t, first["sub"], second["sub"])
}

// oidcc-prompt-none-not-logged-in: "prompt=none without a session is answered with login_required and the state".
func TestPlanPromptNoneNotLoggedIn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"prompt": "none"})
	requireError(t, b.browser().authorize(p), p, "login_required")
}

// oidcc-prompt-none-logged-in: "prompt=none with a session succeeds without a page; auth_time and sub are the same".
func TestPlanPromptNoneLoggedIn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	first := b.claims(requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken)
	b.Clock.Advance(time.Minute)
	got := back(t, u.authorize(base().with(params{"prompt": "none"})), callback)
	second := b.claims(requireTokens(t, b.exchange("app", got.Get("code"))).IDToken)
	require.Equal(t, first["auth_time"], second["auth_time"])
	require.Equal(t, first["sub"], second["sub"])
	require.Greater(t, second["iat"], first["iat"])
}

// oidcc-max-age-1: "with max_age=1, after more than a second, the user is asked again, and auth_time is newer".
func TestPlanMaxAge1(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	first := b.claims(requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken)
	b.Clock.Advance(2 * time.Second)
	second := b.claims(requireTokens(t, b.exchange("app",
		u.enter(base().with(params{"max_age": "1"})).Get("code"))).IDToken)
	require.Greater(t, second["auth_time"], first["auth_time"])
}

// oidcc-max-age-10000: "with max_age=10000 the user is not asked again, and auth_time is the same".
func TestPlanMaxAge10000(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	first := b.claims(requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken)
	b.Clock.Advance(2 * time.Second)
	got := back(t, u.authorize(base().with(params{"max_age": "10000"})), callback)
	require.Equal(t, first["auth_time"], b.claims(requireTokens(t,
		b.exchange("app", got.Get("code"))).IDToken)["auth_time"])
}

// oidcc-ensure-request-with-unknown-parameter-succeeds: "unknown parameters are passed over".
func TestPlanEnsureRequestWithUnknownParameterSucceeds(t *testing.T) {
	t.Parallel()
	newFixture(t).flow(base().with(params{"extra": "foobar"}))
}

// oidcc-id-token-hint: "prompt=none with the ID token of the user who is signed in succeeds, with the same sub". For
// somebody else's it must not.
func TestPlanIDTokenHint(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	token := requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken
	p := base().with(params{"prompt": "none", "id_token_hint": token})
	require.NotEmpty(t, back(t, u.authorize(p), callback).Get("code"))
	other := b.browser()
	back(t, other.signIn(other.authorize(base()), "bob@example.com", right), callback)
	requireError(t, other.authorize(p), p, "login_required")
	hinted := base().with(params{"id_token_hint": token})
	requireError(t, other.signIn(other.authorize(hinted), "bob@example.com", right), hinted, "login_required")
}

// oidcc-login-hint: "a request with login_hint succeeds".
func TestPlanLoginHint(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"login_hint": "bob@example.com"})
	requirePage(t, b.browser().authorize(p), http.StatusOK, `value="bob@example.com"`)
	b.flow(p)
}

// oidcc-ui-locales: "a request with ui_locales succeeds".
func TestPlanUILocales(t *testing.T) {
	t.Parallel()
	newFixture(t).flow(base().with(params{"ui_locales": "se de-CH"}))
}

// oidcc-claims-locales: "a request with claims_locales succeeds".
func TestPlanClaimsLocales(t *testing.T) {
	t.Parallel()
	newFixture(t).flow(base().with(params{"claims_locales": "se"}))
}

// oidcc-ensure-request-with-acr-values-succeeds: "a request with acr_values succeeds".
func TestPlanEnsureRequestWithACRValuesSucceeds(t *testing.T) {
	t.Parallel()
	newFixture(t).flow(base().with(params{"acr_values": "1 2"}))
}

// oidcc-codereuse: "a code that is used a second time, at once, is refused with invalid_grant".
func TestPlanCodeReuse(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	code := b.browser().enter(base()).Get("code")
	requireTokens(t, b.exchange("app", code))
	requireFault(t, b.exchange("app", code), http.StatusBadRequest, "invalid_grant")
}

// oidcc-codereuse-30seconds: "a code that is used a second time after 30 seconds is refused with invalid_grant, and
// the access token is revoked".
func TestPlanCodeReuse30Seconds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	code := b.browser().enter(base()).Get("code")
	issued := requireTokens(t, b.exchange("app", code))
	b.Clock.Advance(30 * time.Second)
	b.requireGood(issued.AccessToken)
	requireFault(t, b.exchange("app", code), http.StatusBadRequest, "invalid_grant")
	b.requireRevoked(issued.AccessToken)
}

// oidcc-ensure-registered-redirect-uri: "a redirect_uri that is not registered is answered with an error page".
func TestPlanEnsureRegisteredRedirectURI(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	requirePage(t, b.browser().authorize(base().with(params{"redirect_uri": callback + "/foobar"})), http.StatusBadRequest)
}

// oidcc-ensure-post-request-succeeds: "an authorization request by POST succeeds".
func TestPlanEnsurePostRequestSucceeds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.headers.Set("Sec-Fetch-Site", "cross-site")
	w := u.ask(http.MethodPost, "/oauth/authorize", base().values())
	require.Equal(t, http.StatusSeeOther, w.Code)
	to := strings.TrimPrefix(w.Header().Get("Location"), issuer)
	u = b.browser()
	page := u.ask(http.MethodGet, to, nil)
	got := back(t, u.signIn(page, "ada@example.com", right), callback)
	require.Equal(t, base()["state"], got.Get("state"))
	requireTokens(t, b.exchange("app", got.Get("code")))
}

// oidcc-server-client-secret-post: "a client that is registered for it authenticates with client_secret_post".
func TestPlanServerClientSecretPost(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	v := exchanging(b.browser().enter(base().with(params{"client_id": "posting"})).Get("code"))
	v.Set("client_id", "posting")
	v.Set("client_secret", secretOf("posting"))
	requireTokens(t, b.post(tokenPath, "", v))
}

// oidcc-request-uri-unsigned: "request_uri is supported, or refused with request_uri_not_supported".
func TestPlanRequestURIUnsigned(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"request_uri": "https://app.example.com/request.jwt"})
	requireError(t, b.browser().authorize(p), p, "request_uri_not_supported")
}

// oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported: "request is supported, or refused with
// request_not_supported".
func TestPlanUnsignedRequestObject(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"request": "eyJhbGciOiJub25lIn0.eyJzdGF0ZSI6IngifQ."})
	requireError(t, b.browser().authorize(p), p, "request_not_supported")
}

// oidcc-claims-essential: "the claim name, asked for as essential, is returned from userinfo".
func TestPlanClaimsEssential(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"claims": `{"userinfo":{"name":{"essential":true},"shoe_size":null},"id_token":{"email":null,"auth_time":{"essential":true}}}`})
	issued := b.flow(p)
	require.JSONEq(t, `{"sub":"user-ada","name":"Ada Lovelace"}`, b.userinfo(issued.AccessToken).Body.String())
	claims := b.claims(issued.IDToken)
	require.Equal(t, "ada@example.com", claims["email"])
	require.NotContains(t, claims, "name")
	// OpenID Connect Core section 5.5.1: a sub with a value is about that user alone.
	u := b.browser()
	bob := base().with(params{"claims": `{"id_token":{"sub":{"value":"user-bob"}}}`})
	requireError(t, u.signIn(u.authorize(bob), "ada@example.com", right), bob, "login_required")
}

// oidcc-ensure-request-object-with-redirect-uri: "a request object with a redirect_uri of its own is taken, or refused
// as unsupported; that redirect_uri is not followed unchecked".
func TestPlanEnsureRequestObjectWithRedirectURI(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	p := base().with(params{"request": "eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2V2aWwuZXhhbXBsZS8ifQ."})
	requireError(t, b.browser().authorize(p), p, "request_not_supported")
}

// oidcc-refresh-token: "a refresh token is exchanged for an access token; an ID token that comes with it has the same
// iss, sub and aud; another client can't use it".
func TestPlanRefreshToken(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	issued := b.flow(all())
	v := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {issued.RefreshToken}}
	requireFault(t, b.post(tokenPath, "other", v), http.StatusBadRequest, "invalid_grant")
	again := requireTokens(t, b.post(tokenPath, "app", v))
	b.requireGood(again.AccessToken)
	first, second := b.claims(issued.IDToken), b.claims(again.IDToken)
	for _, same := range []string{"iss", "sub", "aud", "auth_time"} {
		require.Equal(t, first[same], second[same])
	}
}

// oidcc-ensure-request-with-valid-pkce-succeeds: "a request with code_challenge_method=S256 and the verifier succeeds".
func TestPlanEnsureRequestWithValidPKCESucceeds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	verifier := strings.Repeat("aA0-._~", 8)
	for _, client := range []string{"app", "proving"} {
		p := base().with(params{"client_id": client, "code_challenge": s256(verifier), "code_challenge_method": "S256"})
		v := exchanging(b.browser().enter(p).Get("code"))
		v.Set("code_verifier", verifier)
		requireTokens(t, b.post(tokenPath, client, v))
	}
}

// oidcc-discovery-endpoint-verification: "the metadata has what is required, issuer is exact, and what is supported is
// what the provider does".
func TestPlanDiscoveryEndpointVerification(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	w := b.get("/.well-known/openid-configuration")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "public, max-age=300", w.Header().Get("Cache-Control"))
	var m map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &m))
	require.Equal(t, issuer, m["issuer"])
	for name, path := range map[string]string{
		"authorization_endpoint": "/oauth/authorize", "token_endpoint": tokenPath, "userinfo_endpoint": "/oauth/userinfo",
		"jwks_uri":            "/oauth/jwks",
		"revocation_endpoint": "/oauth/revoke", "end_session_endpoint": "/oauth/logout",
	} {
		require.Equal(t, issuer+path, m[name])
		require.NotEqual(t, http.StatusNotFound, b.get(path).Code)
	}
	for name, want := range map[string][]any{
		"response_types_supported": {"code"}, "response_modes_supported": {"query", "form_post"},
		"grant_types_supported":   {"authorization_code", "refresh_token"},
		"subject_types_supported": {"public"}, "id_token_signing_alg_values_supported": {"RS256", "ES256"},
		"scopes_supported":                      {"openid", "profile", "email", "groups", "offline_access"},
		"token_endpoint_auth_methods_supported": {"client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":      {"S256"}, "ui_locales_supported": {"en", "de"},
	} {
		require.Equal(t, want, m[name], name)
	}
	for name, want := range map[string]bool{
		"claims_parameter_supported": true, "request_parameter_supported": false, "request_uri_parameter_supported": false,
		"authorization_response_iss_parameter_supported": true,
	} {
		require.Equal(t, want, m[name], name)
	}
	var set jose.JSONWebKeySet
	require.NoError(t, json.Unmarshal(b.get("/oauth/jwks").Body.Bytes(), &set))
	require.Len(t, set.Keys, 2)
	for _, k := range set.Keys {
		require.True(t, k.Valid() && k.IsPublic())
		require.Equal(t, "sig", k.Use)
	}
}
