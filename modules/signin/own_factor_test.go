package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// changeFactor fills in the form with the password, for an action.
func (u *browser) changeFactor(plain, action string) *httptest.ResponseRecorder {
	u.b.t.Helper()
	return u.submit(u.ask(http.MethodGet, "/second-factor", nil), `id="current"`, url.Values{"current": {plain}, "action": {action}})
}

// setUpFactor sets up a second factor that comes with a page.
func (u *browser) setUpFactor(page *httptest.ResponseRecorder) (secret string) {
	u.b.t.Helper()
	requirePage(u.b.t, page, http.StatusOK, "Scan this picture", `<svg class="qr"`)
	secret = strings.ReplaceAll(typed.FindStringSubmatch(page.Body.String())[1], " ", "")
	wrong := u.submit(page, `id="code"`, url.Values{"code": {"000000"}})
	requirePage(u.b.t, wrong, http.StatusForbidden, "This code is not right")
	require.Contains(u.b.t, wrong.Body.String(), typed.FindString(page.Body.String()), "the key is another after a mistake")
	requirePage(u.b.t, u.submit(wrong, `id="code"`, url.Values{"code": {""}}), http.StatusUnprocessableEntity, "six digits")
	requirePage(u.b.t, u.submit(wrong, `id="code"`, url.Values{"code": {u.b.code(secret, 0)}}), http.StatusOK,
		"Your second factor is set up", "signed out everywhere else")
	u.b.Clock.Advance(time.Minute)
	return secret
}

// People set up a second factor of their own, another one, and remove it, with their password; all their other sessions
// end.
func TestOwnFactor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	requirePage(t, b.browser().ask(http.MethodGet, "/second-factor", nil), http.StatusForbidden, "You are not signed in")
	here, elsewhere := b.browser(), b.browser()
	hers := requireTokens(t, b.exchange("app", here.enter(base()).Get("code")))
	other := requireTokens(t, b.exchange("app", elsewhere.enter(base()).Get("code")))

	page := here.ask(http.MethodGet, "/second-factor", nil)
	requirePage(t, page, http.StatusOK, "You have none.", "Set it up", "ada@example.com")
	require.NotContains(t, page.Body.String(), "Remove it")
	requirePage(t, here.changeFactor("", "set-up"), http.StatusUnprocessableEntity, "Enter your password.")
	requirePage(t, here.changeFactor("a guess", "set-up"), http.StatusForbidden, "This is not your password.")
	first := here.setUpFactor(here.changeFactor(right, "set-up"))
	b.requireEnded(other)
	b.requireGood(hers.AccessToken)
	requirePage(t, elsewhere.authorize(base()), http.StatusOK, `id="password"`)

	u := b.browser()
	asked := u.signIn(u.authorize(base()), "ada@example.com", right)
	requirePage(t, asked, http.StatusOK, `id="code"`)
	require.NotEmpty(t, back(t, u.second(asked, b.code(first, 0)), callback).Get("code"))
	b.Clock.Advance(time.Minute)

	requirePage(t, here.ask(http.MethodGet, "/second-factor", nil), http.StatusOK, "You sign in with a code", "Set up another one", "Remove it")
	second := here.setUpFactor(here.changeFactor(right, "set-up"))
	require.NotEqual(t, first, second)
	asked = u.signIn(u.authorize(base()), "ada@example.com", right)
	requirePage(t, u.second(asked, b.code(first, 0)), http.StatusForbidden, "This code is not right")
	require.NotEmpty(t, back(t, u.second(asked, b.code(second, 0)), callback).Get("code"))

	requirePage(t, here.changeFactor(right, "remove"), http.StatusOK, "Your second factor is removed")
	requirePage(t, u.ask(http.MethodGet, "/second-factor", nil), http.StatusForbidden, "You are not signed in")
	require.NotEmpty(t, u.enter(base()).Get("code"), "the password is enough again")

	events := map[string]int{}
	entries, _, err := b.Runtime.Store().ListSigninEntries(t.Context(), 0, 100)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Event == "second-factor" {
			require.Equal(t, "user-ada", e.UserID)
			events[e.Result]++
		}
	}
	require.Equal(t, map[string]int{"set_up": 2, "removed": 1, "wrong_password": 1}, events)
}

// Nobody removes what an administrator requires; they may set up another one.
func TestARequiredFactorStays(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	secret := b.protected()
	u := b.browser()
	require.NotEmpty(t, back(t, u.second(u.signIn(u.authorize(base()), "ada@example.com", right), b.code(secret, 0)), callback).Get("code"))
	b.Clock.Advance(time.Minute)
	page := u.ask(http.MethodGet, "/second-factor", nil)
	requirePage(t, page, http.StatusOK, "is required here")
	require.NotContains(t, page.Body.String(), "Remove it")
	require.Equal(t, http.StatusSeeOther, u.changeFactor(right, "remove").Code)
	u.setUpFactor(u.changeFactor(right, "set-up"))
	requirePage(t, u.ask(http.MethodGet, "/second-factor", nil), http.StatusOK, "is required here")

	// What somebody chose by themselves is required once an administrator says so.
	bob := b.browser()
	back(t, bob.signIn(bob.authorize(base()), "bob@example.com", right), callback)
	bob.setUpFactor(bob.changeFactor(right, "set-up"))
	b.requireTOTP("user-bob", true)
	found, err := b.Runtime.Store().User(t.Context(), "user-bob")
	require.NoError(t, err)
	require.False(t, found.TOTPOwn)
	require.Nil(t, found.TOTP)
}

// A form with a new factor is good for its user, their password and 20 minutes.
func TestTicketsOfOwnFactors(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	ada, bob := b.browser(), b.browser()
	ada.enter(base())
	back(t, bob.signIn(bob.authorize(base()), "bob@example.com", right), callback)
	requireOver := func(u *browser, page *httptest.ResponseRecorder) {
		t.Helper()
		secret := strings.ReplaceAll(typed.FindStringSubmatch(page.Body.String())[1], " ", "")
		w := u.submit(page, `id="code"`, url.Values{"code": {b.code(secret, 0)}})
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, issuer+"/second-factor", w.Header().Get("Location"))
	}
	requireOver(bob, ada.changeFactor(right, "set-up"))
	late := ada.changeFactor(right, "set-up")
	b.Clock.Advance(21 * time.Minute)
	requireOver(ada, late)
	requirePage(t, ada.ask(http.MethodGet, "/second-factor", nil), http.StatusOK, "You have none.")
}
