package signin_test

import (
	"fmt"
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

// recoveryLink is what an administrator makes for a user, below the issuer.
func (b *fixture) recoveryLink(user string, resetsTOTP bool) string {
	b.t.Helper()
	u, err := b.Runtime.Store().User(b.t.Context(), user)
	require.NoError(b.t, err)
	link, err := b.RecoveryLink(u, resetsTOTP, b.Now().Add(24*time.Hour))
	require.NoError(b.t, err)
	require.True(b.t, strings.HasPrefix(link, issuer+"/recovery?ticket="), link)
	return strings.TrimPrefix(link, issuer)
}

func (u *browser) choosing(page *httptest.ResponseRecorder, plain string) *httptest.ResponseRecorder {
	u.b.t.Helper()
	return u.submit(page, `id="password"`, url.Values{"password": {plain}})
}

// With a recovery link somebody chooses a password once: every other change of it ends the link, too.
func TestRecovery(t *testing.T) {
	t.Parallel()
	const next = "battery staple"
	b := newFixture(t)
	had := b.flow(base())
	link, second := b.recoveryLink("user-ada", false), b.recoveryLink("user-ada", true)
	u := b.browser()
	for range 5 { // previews look at it
		requirePage(t, u.ask(http.MethodGet, link, nil), http.StatusOK, "Choose a password", "ada@example.com", "good once",
			`autocomplete="new-password"`)
	}
	page := u.ask(http.MethodGet, link, nil)
	require.NotContains(t, page.Body.String(), "second factor")
	require.Equal(t, "strict-origin", page.Header().Get("Referrer-Policy"), "the link goes nowhere")
	page = u.choosing(page, "short")
	requirePage(t, page, http.StatusUnprocessableEntity, "at least 8 characters")
	b.requireGood(had.AccessToken)
	requirePage(t, u.choosing(page, next), http.StatusOK, "Your password is changed", "sign in there")
	b.requireEnded(had)
	for _, ended := range []string{link, second} {
		requirePage(t, u.ask(http.MethodGet, ended, nil), http.StatusForbidden, "This link is over")
	}
	requirePage(t, u.choosing(page, right), http.StatusForbidden, "This link is over")
	require.NotEmpty(t, back(t, u.signIn(u.authorize(base()), "ada@example.com", next), callback).Get("code"))

	entries, _, err := b.Runtime.Store().ListSigninEntries(t.Context(), 0, 100)
	require.NoError(t, err)
	results := map[string]int{}
	for _, e := range entries {
		if e.Event == "recovery" {
			require.Equal(t, "user-ada", e.UserID)
			results[e.Result]++
		}
	}
	require.Equal(t, map[string]int{"success": 1, "expired_link": 3}, results)
	for _, one := range b.Logged.All() {
		require.NotContains(t, one.Message+fmt.Sprint(one.ContextMap()), "ticket=")
	}
}

// Whoever lost their telephone sets up another one, where the link says so alone.
func TestRecoveryOfASecondFactor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.protected()
	u := b.browser()
	for _, resets := range []bool{false, true} {
		page := u.ask(http.MethodGet, b.recoveryLink("user-ada", resets), nil)
		require.Equal(t, resets, strings.Contains(page.Body.String(), "set up a second factor again"))
		requirePage(t, u.choosing(page, right), http.StatusOK, "Your password is changed")
		asked := u.signIn(u.authorize(base()), "ada@example.com", right)
		requirePage(t, asked, http.StatusOK, `id="code"`)
		require.Equal(t, resets, strings.Contains(asked.Body.String(), "Scan this picture"))
	}
}

func TestRecoveryLinksEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	requireOver := func(link string) {
		t.Helper()
		requirePage(t, b.browser().ask(http.MethodGet, link, nil), http.StatusForbidden, "This link is over", "Ask whoever sent it")
	}
	late := b.recoveryLink("user-ada", false)
	b.Clock.Advance(24 * time.Hour)
	requireOver(late)
	changed := b.recoveryLink("user-ada", false)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.ResetUser("user-ada", "another", b.Now()); return err })
	requireOver(changed)
	disabled := b.recoveryLink("user-ada", false)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-ada", b.Now()); return err })
	requireOver(disabled)

	// Guessing slows down, at the address of who guesses.
	slow := false
	for range 10 {
		if w := b.browser().ask(http.MethodGet, "/recovery?ticket=a-guess", nil); w.Code == http.StatusTooManyRequests {
			requirePage(t, w, http.StatusTooManyRequests, "Too many attempts")
			require.NotEmpty(t, w.Header().Get("Retry-After"))
			slow = true
		}
	}
	require.True(t, slow)
	elsewhere := b.browser()
	elsewhere.headers.Set("X-Test-Address", "203.0.113.9")
	requirePage(t, elsewhere.ask(http.MethodGet, b.recoveryLink("user-bob", false), nil), http.StatusOK, "bob@example.com")
}

// Whoever signs in at their company alone has no password here to recover.
func TestRecoveryAtACompany(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	move := func(to string) {
		c.Write(t, func(tx *store.Tx) error { return tx.UpdateUser(&identity.User{ID: "user-bob", Email: to}) })
	}
	move("bob@other.example")
	before := c.recoveryLink("user-bob", false)
	move("bob@acme.example")
	u, err := c.Runtime.Store().User(t.Context(), "user-bob")
	require.NoError(t, err)
	link, err := c.RecoveryLink(u, false, c.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, link)
	requirePage(t, c.browser().ask(http.MethodGet, before, nil), http.StatusForbidden, "You have no password here",
		"You sign in at your company.")
}
