package signin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogout(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const bye = "https://app.example.com/bye"
	enter := func() (*browser, string) {
		u := b.browser()
		return u, requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken
	}
	ask := func(u *browser, v url.Values) *httptest.ResponseRecorder {
		return u.ask(http.MethodGet, "/oauth/logout?"+v.Encode(), nil)
	}
	u, token := enter()
	w := ask(u, url.Values{"id_token_hint": {token}, "post_logout_redirect_uri": {bye}, "state": {"s 1"}})
	require.Equal(t, http.StatusFound, w.Code)
	require.Equal(t, bye+"?state=s+1", w.Header().Get("Location"))
	require.Empty(t, u.cookies)

	u, token = enter()
	b.Clock.Advance(2 * time.Hour) // the ID token is over, which does not matter
	requirePage(t, ask(u, url.Values{"id_token_hint": {token}, "post_logout_redirect_uri": {"https://evil.example/"}}),
		http.StatusOK, "You are signed out")
	requirePage(t, u.authorize(base()), http.StatusOK, `id="password"`)

	// Without a hint any site could ask for it, so the person is asked.
	u, _ = enter()
	w = ask(u, url.Values{"client_id": {"app"}, "post_logout_redirect_uri": {bye}, "state": {"s"}})
	requirePage(t, w, http.StatusOK, "Sign out?", `value="`+bye+`"`)
	require.NotEmpty(t, u.cookies)
	w = u.submit(w, `name="to"`, url.Values{})
	require.Equal(t, bye+"?state=s", w.Header().Get("Location"))
	require.Empty(t, u.cookies)

	u, _ = enter()
	for _, form := range []url.Values{{"to": {"https://evil.example/"}, "client_id": {"app"}},
		{"to": {bye}, "client_id": {"nobody"}}, {"to": {bye}}} {
		requirePage(t, u.ask(http.MethodPost, "/oauth/sign-out", form), http.StatusOK, "You are signed out")
	}

	// A hint about somebody else, or for another client, is none.
	u, token = enter()
	other := b.browser()
	requirePage(t, other.signIn(other.authorize(base().with(params{"prompt": "consent"})), "bob@example.com", right),
		http.StatusOK)
	requirePage(t, ask(other, url.Values{"id_token_hint": {token}}), http.StatusOK, "Sign out?")
	requirePage(t, ask(u, url.Values{"id_token_hint": {token}, "client_id": {"other"}}), http.StatusOK, "Sign out?")
	requirePage(t, ask(u, url.Values{"id_token_hint": {token}, "client_id": {"other"},
		"post_logout_redirect_uri": {bye}}), http.StatusOK, "Sign out?", `name="to" value=""`)
	// From another site a POST has no cookie: it goes on as a GET, which has it, and what is asked for is asked then.
	w = b.browser().ask(http.MethodPost, "/oauth/logout", url.Values{"id_token_hint": {token}, "ui_locales": {"de"}})
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Empty(t, w.Result().Cookies(), "any site could sign anybody out")
	sent, ok := strings.CutPrefix(w.Header().Get("Location"), issuer)
	require.True(t, ok)
	requirePage(t, u.ask(http.MethodGet, sent, nil), http.StatusOK, "abgemeldet")
	requirePage(t, ask(b.browser(), url.Values{}), http.StatusOK, "You are signed out")
	// Without a session either, an ID token of another client's leads nowhere.
	require.Empty(t, ask(b.browser(), url.Values{"id_token_hint": {token}, "client_id": {"other"},
		"post_logout_redirect_uri": {bye}}).Header().Get("Location"))
	require.Empty(t, ask(b.browser(), url.Values{"id_token_hint": {"x"}, "client_id": {"app"},
		"post_logout_redirect_uri": {bye}}).Header().Get("Location"))
	requirePage(t, b.browser().ask(http.MethodPost, "/oauth/sign-out", url.Values{"ui_locales": {"de"}}), http.StatusOK,
		"abgemeldet")
}

// Nobody is told that they are signed out while the database can't say so: the session would go on without them.
// A request with a parameter twice leads nowhere, and signs nobody out.
func TestLogoutWithAParameterTwice(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	token := requireTokens(t, b.exchange("app", u.enter(base()).Get("code"))).IDToken
	good := url.Values{"id_token_hint": {token}, "post_logout_redirect_uri": {"https://app.example.com/bye"}}.Encode()
	for _, twice := range []string{"post_logout_redirect_uri=https%3A%2F%2Fapp.example.com%2Fbye",
		"post_logout_redirect_uri=", "id_token_hint=x", "state=a&state=b", "x=%zz"} {
		requirePage(t, u.ask(http.MethodGet, "/oauth/logout?"+good+"&"+twice, nil), http.StatusBadRequest,
			"This link doesn’t lead anywhere")
	}
	require.NotEmpty(t, back(t, u.authorize(base().with(params{"prompt": "none"})), callback).Get("code"),
		"somebody was signed out")
}

func TestLogoutWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(base())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := u.askWithin(gone, http.MethodPost, "/oauth/sign-out", url.Values{"to": {""}})
	requirePage(t, w, http.StatusServiceUnavailable)
	require.Empty(t, w.Result().Cookies(), "the session is lost, and goes on")
	requirePage(t, u.ask(http.MethodPost, "/oauth/sign-out", url.Values{"to": {""}}), http.StatusOK, "You are signed out")
	require.Empty(t, u.cookies)
}
