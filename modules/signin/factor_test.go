package signin_test

import (
	"encoding/base32"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

var (
	ticketed = regexp.MustCompile(`name="ticket" value="([^"]*)"`)
	typed    = regexp.MustCompile(`<code>([A-Z2-7 ]+)</code>`)
)

// second fills in the form that asks for a one-time password.
func (u *browser) second(page *httptest.ResponseRecorder, code string) *httptest.ResponseRecorder {
	u.b.t.Helper()
	return u.submit(page, `id="code"`, url.Values{"code": {code}, "action": {"sign-in"}})
}

// ticketOf is the sealed ticket that the form of a page brings back.
func ticketOf(t testing.TB, page *httptest.ResponseRecorder) string {
	t.Helper()
	found := ticketed.FindStringSubmatch(page.Body.String())
	require.Len(t, found, 2, "%d %s", page.Code, page.Body)
	return html.UnescapeString(found[1])
}

func (b *fixture) requireTOTP(user string, on bool) {
	b.Write(b.t, func(tx *store.Tx) error { _, err := tx.RequireTOTP(user, on, b.Now()); return err })
}

// code is what an app shows, some time from now.
func (b *fixture) code(secret string, after time.Duration) string {
	b.t.Helper()
	code, err := totp.GenerateCode(secret, b.Now().Add(after))
	require.NoError(b.t, err)
	return code
}

// protected is ada with a second factor, set up half a minute ago.
func (b *fixture) protected() (secret string) {
	b.t.Helper()
	b.requireTOTP("user-ada", true)
	u := b.browser()
	page := u.signIn(u.authorize(base()), "ada@example.com", right)
	requirePage(b.t, page, http.StatusOK, "Scan this picture", `<svg class="qr"`)
	secret = strings.ReplaceAll(typed.FindStringSubmatch(page.Body.String())[1], " ", "")
	require.Empty(b.t, page.Result().Cookies(), "somebody is signed in with one factor of two")
	wrong := u.second(page, "000000")
	requirePage(b.t, wrong, http.StatusForbidden, "This code is not right", `id="code-error"`)
	require.Contains(b.t, wrong.Body.String(), typed.FindString(page.Body.String()), "the key is another after a mistake")
	require.NotEmpty(b.t, back(b.t, u.second(wrong, b.code(secret, 0)), callback).Get("code"))
	b.Clock.Advance(time.Minute)
	return secret
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	secret := b.protected()
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	require.NoError(t, err)
	require.Len(t, raw, 20)

	u := b.browser()
	page := u.signIn(u.authorize(base()), "ada@example.com", right)
	requirePage(t, page, http.StatusOK, "Enter the code that your authenticator app shows for Initech Recruiting.",
		`autocomplete="one-time-code"`)
	require.NotContains(t, page.Body.String(), "<svg class", "the secret is shown again")
	require.Empty(t, page.Result().Cookies())
	for _, nothing := range []string{"", "12345", "1234567"} {
		requirePage(t, u.second(page, nothing), http.StatusUnprocessableEntity, "Enter the six digits")
	}
	for _, off := range []time.Duration{-2 * time.Minute, 2 * time.Minute} {
		requirePage(t, u.second(page, b.code(secret, off)), http.StatusForbidden, "This code is not right")
	}
	code := b.code(secret, -30*time.Second) // a clock that is slow
	require.NotEmpty(t, back(t, u.second(page, code[:3]+" "+code[3:]), callback).Get("code"))
	require.NotEmpty(t, back(t, u.authorize(base()), callback).Get("code"), "they are not signed in")

	// "replay of a code refused", for the code of before as well.
	for _, used := range []string{code, b.code(secret, -time.Minute)} {
		other := b.browser()
		requirePage(t, other.second(other.signIn(other.authorize(base()), "ada@example.com", right), used),
			http.StatusForbidden, "was used already")
	}

	// "secret encrypted at rest"; with another key it is of no use, with the former one beside it it is.
	kept, err := b.Runtime.Store().User(t.Context(), "user-ada")
	require.NoError(t, err)
	require.NotContains(t, string(kept.TOTP), string(raw))
	require.NotContains(t, string(kept.TOTP), secret)
	b.Clock.Advance(10 * time.Minute)
	const another = "another text of more than thirty-two characters"
	sign := func(texts ...string) *httptest.ResponseRecorder {
		b.Clock.Advance(time.Minute)
		u := b.browser()
		u.p = b.provider(issuer, texts...)
		return u.second(u.signIn(u.authorize(base()), "ada@example.com", right), b.code(secret, 0))
	}
	requirePage(t, sign(another), http.StatusServiceUnavailable)
	require.NotEmpty(t, back(t, sign(another, seal), callback).Get("code"))
	require.NotEmpty(t, back(t, sign(another), callback).Get("code"), "it was not sealed anew")

	// Reset: another secret is set up, and the former one is good no more.
	b.requireTOTP("user-ada", true)
	u = b.browser()
	page = u.signIn(u.authorize(base()), "ada@example.com", right)
	require.NotContains(t, strings.ReplaceAll(page.Body.String(), " ", ""), secret)
	requirePage(t, u.second(page, b.code(secret, 0)), http.StatusForbidden)
	b.requireTOTP("user-ada", false)
	u.enter(base())
}

// "prompt=login, max_age | sign in again; auth_time must be newer": it is that of the second factor, since an
// application that gets an older one than its max_age sends people back, again and again.
func TestSecondFactorAndMaxAge(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	secret := b.protected()
	u := b.browser()
	p := base().with(params{"max_age": "60"})
	page := u.signIn(u.authorize(p), "ada@example.com", right)
	b.Clock.Advance(3 * time.Minute)
	got := back(t, u.second(page, b.code(secret, 0)), callback)
	require.Equal(t, float64(b.Now().Unix()), b.claims(requireTokens(t,
		b.exchange("app", got.Get("code"))).IDToken)["auth_time"])
	b.Clock.Advance(time.Minute)
	require.NotEmpty(t, back(t, u.authorize(p), callback).Get("code"), "they sign in again too early")
}

// Who has to install an app first has 20 minutes.
func TestSettingUpTakesItsTime(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.requireTOTP("user-ada", true)
	u := b.browser()
	page := u.signIn(u.authorize(base()), "ada@example.com", right)
	secret := strings.ReplaceAll(typed.FindStringSubmatch(page.Body.String())[1], " ", "")
	b.Clock.Advance(19 * time.Minute)
	wrong := u.second(page, "000000")
	requirePage(t, wrong, http.StatusForbidden)
	b.Clock.Advance(2 * time.Minute)
	requirePage(t, u.second(wrong, b.code(secret, 0)), http.StatusOK, `id="password"`,
		"That took too long. Sign in again.")

	page = u.signIn(u.authorize(base()), "ada@example.com", right)
	secret = strings.ReplaceAll(typed.FindStringSubmatch(page.Body.String())[1], " ", "")
	b.Clock.Advance(20 * time.Minute)
	require.NotEmpty(t, back(t, u.second(page, b.code(secret, 0)), callback).Get("code"))
}

// "throttled like passwords"
func TestGuessingTheSecondFactor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	secret := b.protected()
	u := b.browser()
	page := u.signIn(u.authorize(base()), "ada@example.com", right)
	for range 3 {
		requirePage(t, u.second(page, "000000"), http.StatusForbidden)
		u.signIn(u.authorize(base()), "ada@example.com", right) // which forgets the wrong passwords, and nothing else
	}
	w := u.second(page, b.code(secret, 0))
	requirePage(t, w, http.StatusTooManyRequests, "Wait 1 s")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	b.Clock.Advance(time.Second)
	require.NotEmpty(t, back(t, u.second(page, b.code(secret, 0)), callback).Get("code"))

	var results []string
	log, _, err := b.Runtime.Store().ListSigninEntries(t.Context(), 0, 10)
	require.NoError(t, err)
	for _, e := range log {
		if e.Event == "sign-in" {
			require.Equal(t, "user-ada", e.UserID)
			results = append(results, e.Result)
		}
	}
	require.Equal(t, []string{"success", "wrong_code", "wrong_code", "wrong_code", "success", "wrong_code"}, results)
}

// Who knows the password guesses no faster with many addresses. Whose account it is signs in all the same where they
// did so before, and elsewhere once the guessing has ended.
func TestGuessingTheSecondFactorFromManyAddresses(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	secret := b.protected()
	guesser := b.browser()
	page := guesser.signIn(guesser.authorize(base()), "ada@example.com", right)
	guess := func(n int) *httptest.ResponseRecorder {
		guesser.headers.Set("X-Test-Address", fmt.Sprintf("198.51.100.%d", n))
		return guesser.second(page, "000000")
	}
	for n := range 10 {
		requirePage(t, guess(n), http.StatusForbidden)
	}
	requirePage(t, guess(10), http.StatusTooManyRequests, "Wait 1 s")
	b.Clock.Advance(time.Second)
	requirePage(t, guess(11), http.StatusForbidden)
	requirePage(t, guess(12), http.StatusTooManyRequests, "Wait 2 s")

	u := b.browser()
	require.NotEmpty(t, back(t, u.second(u.signIn(u.authorize(base()), "ada@example.com", right), b.code(secret, 0)),
		callback).Get("code"))
	elsewhere := b.browser()
	elsewhere.headers.Set("X-Test-Address", "203.0.113.1")
	page = elsewhere.signIn(elsewhere.authorize(base()), "ada@example.com", right)
	requirePage(t, elsewhere.second(page, "000000"), http.StatusTooManyRequests)
	b.Clock.Advance(time.Minute)
	require.NotEmpty(t, back(t, elsewhere.second(page, b.code(secret, 0)), callback).Get("code"))
}

// A ticket is good for five minutes, for whom it was made, where it was made, while nothing changed.
func TestTicket(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	secret := b.protected()
	enter := func() (*browser, *httptest.ResponseRecorder) {
		u := b.browser()
		return u, u.signIn(u.authorize(base()), "ada@example.com", right)
	}
	u, page := enter()
	b.Clock.Advance(5*time.Minute + time.Second)
	requirePage(t, u.second(page, b.code(secret, 0)), http.StatusOK, `id="password"`, "That took too long. Sign in again.")
	u.headers.Set("Accept-Language", "de")
	requirePage(t, u.second(page, b.code(secret, 0)), http.StatusOK,
		"Das hat zu lange gedauert. Melden Sie sich noch einmal an.")

	u, page = enter()
	u.p = b.provider("https://gate.example.com/second")
	requirePage(t, u.ask(http.MethodPost, "/oauth/factor",
		url.Values{"ticket": {ticketOf(t, page)}, "code": {b.code(secret, 0)}}), http.StatusBadRequest)
	for _, forged := range []string{"", "x", "AAAA"} {
		requirePage(t, u.ask(http.MethodPost, "/oauth/factor", url.Values{"ticket": {forged}, "code": {"123456"}}),
			http.StatusBadRequest, "anywhere")
	}

	u, page = enter()
	w := u.submit(page, `id="code"`, url.Values{"action": {"cancel"}})
	requireError(t, w, base(), "access_denied")

	for name, change := range map[string]func(tx *store.Tx) (bool, error){
		"another password": func(tx *store.Tx) (bool, error) { return tx.ResetUser("user-ada", "$another", b.Now()) },
		"another factor":   func(tx *store.Tx) (bool, error) { return tx.RequireTOTP("user-ada", true, b.Now()) },
		"disabled":         func(tx *store.Tx) (bool, error) { return tx.DisableUser("user-ada", b.Now()) },
	} {
		b := newFixture(t)
		secret := b.protected()
		u := b.browser()
		page := u.signIn(u.authorize(base()), "ada@example.com", right)
		b.Write(t, func(tx *store.Tx) error { _, err := change(tx); return err })
		w := u.second(page, b.code(secret, 0))
		requirePage(t, w, http.StatusOK, `id="password"`)
		require.NotContains(t, w.Body.String(), "too long")
		require.Empty(t, u.cookies, name)
	}
}
