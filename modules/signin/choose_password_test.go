package signin_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

// Whoever was given a password chooses another one at their first sign-in, after the second factor: only then are they
// signed in, and the password that they were given ends.
func TestChoosingAPassword(t *testing.T) {
	t.Parallel()
	const next = "battery staple"
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error { return tx.RequirePasswordChange("user-ada") })
	u := b.browser()
	page := u.signIn(u.authorize(base()), "ada@example.com", right)
	requirePage(t, page, http.StatusOK, "Choose a password", "ada@example.com", `autocomplete="new-password"`)
	requirePage(t, u.authorize(base()), http.StatusOK, `id="email"`)
	for plain, says := range map[string]string{"short": "at least 8 characters", right: "Choose another one"} {
		requirePage(t, u.submit(page, "ticket", url.Values{"password": {plain}}), http.StatusUnprocessableEntity, says)
	}
	requireTokens(t, b.exchange("app", back(t, u.submit(page, "ticket", url.Values{"password": {next}}), callback).Get("code")))
	requirePage(t, u.submit(page, "ticket", url.Values{"password": {"once more again"}}), http.StatusOK, `id="email"`)

	u = b.browser()
	requirePage(t, u.signIn(u.authorize(base()), "ada@example.com", right), http.StatusForbidden, `id="password"`)
	require.NotEmpty(t, back(t, u.signIn(u.authorize(base()), "ada@example.com", next), callback).Get("code"))

	b.Write(t, func(tx *store.Tx) error { return tx.RequirePasswordChange("user-bob") })
	page = u.signIn(b.browser().authorize(base()), "bob@example.com", right)
	b.Clock.Advance(6 * time.Minute)
	requirePage(t, u.submit(page, "ticket", url.Values{"password": {next}}), http.StatusOK, "That took too long")
}
