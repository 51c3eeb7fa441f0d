package signin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// People see where they are signed in, and end one session, or all others, with what was granted in them.
func TestOwnSessions(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	a := newApplication(b, "app")
	requirePage(t, b.browser().ask(http.MethodGet, "/sessions", nil), http.StatusForbidden, "You are not signed in")
	in := func(agent, from string) (*browser, tokens) {
		t.Helper()
		u := b.browser()
		u.headers.Set("User-Agent", agent)
		u.headers.Set("X-Test-Address", from)
		return u, requireTokens(t, b.exchange("app", u.enter(base()).Get("code")))
	}
	here, hers := in("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "198.51.100.7")
	requirePage(t, here.ask(http.MethodGet, "/sessions", nil), http.StatusOK, "You are signed in here alone")
	phone, phones := in("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1",
		"203.0.113.88")
	odd, odds := in("curl/8", "192.0.2.61")
	bob := b.browser()
	back(t, bob.signIn(bob.authorize(base()), "bob@example.com", right), callback)

	b.Clock.Advance(10 * time.Minute)
	require.NotEmpty(t, back(t, phone.authorize(base()), callback).Get("code"))
	page := here.ask(http.MethodGet, "/sessions", nil)
	requirePage(t, page, http.StatusOK, "You are signed in at 3 places", "Firefox, Linux", "Safari, iPhone", "A browser", "198.51.100.7",
		"203.0.113.88", "192.0.2.61", "Payroll", "<p>since 2026-11-20 12:00:00 UTC, last used 2026-11-20 12:10:00 UTC</p>",
		"<p>since 2026-11-20 12:00:00 UTC, last used 2026-11-20 12:00:00 UTC</p>", "this one", "ada@example.com")
	require.Equal(t, 1, strings.Count(page.Body.String(), "this one"))

	ended := here.submit(page, "203.0.113.88", url.Values{})
	require.Equal(t, http.StatusSeeOther, ended.Code)
	require.Equal(t, issuer+"/sessions", ended.Header().Get("Location"))
	requirePage(t, phone.authorize(base()), http.StatusOK, `id="password"`)
	b.requireEnded(phones)
	require.Len(t, a.tell(), 1, "the application hears it")
	b.requireGood(odds.AccessToken)

	foreign := bob.ask(http.MethodPost, "/sessions/end", url.Values{"sid": {b.claims(odds.IDToken)["sid"].(string)}})
	require.Equal(t, http.StatusSeeOther, foreign.Code)
	b.requireGood(odds.AccessToken)

	require.Equal(t, http.StatusSeeOther, here.submit(here.ask(http.MethodGet, "/sessions", nil), "End all others", url.Values{}).Code)
	requirePage(t, odd.authorize(base()), http.StatusOK, `id="password"`)
	b.requireEnded(odds)
	b.requireGood(hers.AccessToken)
	requirePage(t, here.ask(http.MethodGet, "/sessions", nil), http.StatusOK, "You are signed in here alone")
	require.NotEmpty(t, back(t, bob.authorize(base()), callback).Get("code"))
}
