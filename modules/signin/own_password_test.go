package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// People change their password with the one that they have; all their other sessions end.
func TestOwnPassword(t *testing.T) {
	t.Parallel()
	const next = "battery staple"
	b := newFixture(t)
	requirePage(t, b.browser().ask(http.MethodGet, "/password", nil), http.StatusForbidden, "You are not signed in")
	here, elsewhere := b.browser(), b.browser()
	hers := requireTokens(t, b.exchange("app", here.enter(base()).Get("code")))
	other := requireTokens(t, b.exchange("app", elsewhere.enter(base()).Get("code")))
	change := func(current, to string) *httptest.ResponseRecorder {
		t.Helper()
		page := here.ask(http.MethodGet, "/password", nil)
		requirePage(t, page, http.StatusOK, "Change your password", "ada@example.com", `autocomplete="new-password"`)
		return here.submit(page, `id="current"`, url.Values{"current": {current}, "password": {to}})
	}
	requirePage(t, change("", "short"), http.StatusUnprocessableEntity, "Enter your password.", "at least 8 characters")
	requirePage(t, change("a guess", next), http.StatusForbidden, "This is not your password.")
	b.requireGood(other.AccessToken)
	for range 20 {
		if w := change("a guess", next); w.Code == http.StatusTooManyRequests {
			require.NotEmpty(t, w.Header().Get("Retry-After"))
			break
		}
	}
	requirePage(t, change(right, next), http.StatusTooManyRequests, "Too many attempts")
	b.Clock.Advance(30 * time.Minute)
	requirePage(t, change(right, next), http.StatusOK, "Your password is changed")
	b.requireEnded(other)
	requirePage(t, elsewhere.authorize(base()), http.StatusOK, `id="password"`)
	b.requireGood(hers.AccessToken)
	require.NotEmpty(t, back(t, here.authorize(base()), callback).Get("code"))

	u := b.browser()
	requirePage(t, u.signIn(u.authorize(base()), "ada@example.com", right), http.StatusForbidden, `id="password"`)
	require.NotEmpty(t, back(t, u.signIn(u.authorize(base()), "ada@example.com", next), callback).Get("code"))
}

// Whoever signs in at their company has no password here to change.
func TestNoOwnPassword(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	u := c.browser()
	sent := c.leave(u, c.choose(u, "ann@acme.example"), c.acme)
	c.acme.told, c.acme.nonce = account("1", "ann@acme.example"), sent.Get("nonce")
	back(t, u.ask(http.MethodGet, "/oauth/upstream/acme/callback?code=c&state="+sent.Get("state"), nil), callback)
	requirePage(t, u.ask(http.MethodGet, "/password", nil), http.StatusForbidden, "You have no password here")
	requirePage(t, u.ask(http.MethodPost, "/password/change", url.Values{"current": {"x"}, "password": {"battery staple"}}),
		http.StatusForbidden, "You have no password here")
}
