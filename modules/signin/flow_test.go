package signin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlow(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	p := base().with(params{"scope": "openid profile email"})
	got := u.enter(p)
	require.Equal(t, p["state"], got.Get("state"), "state is not echoed byte for byte")
	require.Len(t, got, 3)
	answered := requireTokens(t, b.exchange("app", got.Get("code")))
	half := sha256.Sum256([]byte(answered.AccessToken))
	now := float64(b.Now().Unix())
	claims := b.claims(answered.IDToken)
	require.NotEmpty(t, claims["sid"])
	require.Equal(t, map[string]any{
		"sid": claims["sid"], "iss": issuer, "sub": "user-ada", "aud": "app", "iat": now, "exp": now + 3600, "auth_time": now, "nonce": "n-1",
		"at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
		"name":    "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace", "email": "ada@example.com",
		"email_verified": true,
	}, claims)
	require.JSONEq(t, `{"sub":"user-ada","name":"Ada Lovelace","given_name":"Ada","family_name":"Lovelace","email":"ada@example.com","email_verified":true}`,
		b.userinfo(answered.AccessToken).Body.String())

	// Who is signed in is not asked again.
	again := back(t, u.authorize(base().with(params{"client_id": "other", "redirect_uri": callback + "?keep=%20this&x"})),
		callback+"?keep=%20this&x")
	require.NotEmpty(t, again.Get("code"))
}

func TestClaimsByScope(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	always := []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid"}
	for scope, more := range map[string][]string{
		"openid":                             nil,
		"openid email":                       {"email", "email_verified"},
		"profile openid":                     {"name", "given_name", "family_name"},
		"openid offline_access phone x y z!": nil,
	} {
		claims := b.claims(b.flow(base().with(params{"scope": scope})).IDToken)
		var names []string
		for name := range claims {
			names = append(names, name)
		}
		require.ElementsMatch(t, append(more, always...), names, scope)
	}
}

// The hidden field carries what the application asked, and the form does not add to it.
func TestFormIsReadAnew(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for name, forged := range map[string]url.Values{
		"client":       base().with(params{"client_id": "nobody"}).values(),
		"redirect URI": base().with(params{"redirect_uri": "https://evil.example/"}).values(),
		"nothing":      {},
	} {
		for _, path := range []string{"/oauth/sign-in", "/oauth/consent"} {
			w := b.browser().ask(http.MethodPost, path, url.Values{"request": {forged.Encode()}, "ticket": {forged.Encode()},
				"email": {"ada@example.com"}, "password": {right}, "action": {"allow"}})
			requirePage(t, w, http.StatusBadRequest, "anywhere")
			require.Empty(t, w.Result().Cookies(), name)
		}
	}
}

func TestServiceInMaintenance(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	code := b.browser().enter(base()).Get("code")
	require.NoError(t, b.Runtime.Store().Close())
	for _, path := range []string{"/oauth/authorize?" + base().values().Encode(), "/oauth/userinfo", "/oauth/jwks"} {
		require.Equal(t, http.StatusServiceUnavailable, b.get(path).Code, path)
	}
	u := b.browser()
	u.headers.Set("Accept", "text/html")
	requirePage(t, u.authorize(base()), http.StatusServiceUnavailable, "Something is wrong on our side")
	// "every token answer | JSON, `Cache-Control: no-store`", also for those who say that they like pages, as Java does.
	for _, path := range []string{tokenPath, "/oauth/revoke"} {
		for _, accept := range []string{"", "application/json", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"} {
			w := b.post(path, "app", exchanging(code), func(r *http.Request) { r.Header.Set("Accept", accept) })
			requireFault(t, w, http.StatusServiceUnavailable, "temporarily_unavailable")
			require.NotEmpty(t, w.Header().Get("Retry-After"))
		}
	}
}
