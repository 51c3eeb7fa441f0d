package signin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

var styled = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// "CSP without inline script; frame-ancestors none"; the page works without JavaScript, because there is none.
func TestPageIsClosed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	w := b.browser().authorize(base())
	requirePage(t, w, http.StatusOK, `<html lang="en">`, "Sign in", "to continue to Payroll &lt;app&gt;",
		`<label for="email">`, `<label for="password">`)
	style := styled.FindStringSubmatch(w.Body.String())[1]
	sum := sha256.Sum256([]byte(style))
	require.Equal(t,
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(
			sum[:])+"'; form-action 'self' https:; frame-ancestors 'none'; base-uri 'none'",
		w.Header().Get("Content-Security-Policy"))
	require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "strict-origin", w.Header().Get("Referrer-Policy"),
		"with no-referrer browsers send our own forms with an Origin of null")
	require.Empty(t, w.Header().Get("Cross-Origin-Opener-Policy"),
		"it cuts a popup off from the application that waits for it")
	for _, no := range []string{"<script", "javascript:", " on", "style=", "src="} {
		require.NotRegexp(t, `<[^>]*`+regexp.QuoteMeta(no)+`[a-z]*="`, w.Body.String())
	}
	require.NotContains(t, w.Body.String(), "<script")
	// Browsers hold form-action against each redirect behind the form.
	require.Contains(t,
		b.browser().authorize(base().with(params{"redirect_uri": "http://localhost:8090/callback"})).Header().Get(
			"Content-Security-Policy"), "form-action 'self' https: http:;")
}

func TestPageEscapes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const evil = `"><script>alert(1)</script>`
	u := b.browser()
	w := u.authorize(base().with(params{"login_hint": evil, "state": evil, "scope": "openid " + evil}))
	require.NotContains(t, w.Body.String(), "<script")
	require.NotContains(t, u.signIn(w, evil, "x").Body.String(), "<script")
	require.NotContains(t, b.get("/oauth/authorize?client_id="+url.QueryEscape(evil)).Body.String(), "<script")
}

// Errors are beside the field that they are about, and the password is never sent back.
func TestErrorsBesideTheField(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	page := u.authorize(base())
	for _, c := range []struct {
		email, password string
		status          int
		has, hasNot     []string
	}{
		{"", "", http.StatusUnprocessableEntity, []string{`id="email-error"`, "Enter your e-mail address.",
			`id="password-error"`, "Enter your password."}, nil},
		{" ", "x", http.StatusUnprocessableEntity, []string{`id="email-error"`}, []string{`id="password-error"`}},
		{"ada@example.com", "", http.StatusUnprocessableEntity, []string{`id="password-error"`, `value="ada@example.com"`},
			[]string{`id="email-error"`}},
		{"ada@example.com", "the wrong one", http.StatusForbidden,
			[]string{`aria-describedby="password-error"`, "The e-mail address or the password is not right.",
				`value="ada@example.com"`}, []string{"the wrong one", `id="email-error"`}},
	} {
		w := u.signIn(page, c.email, c.password)
		requirePage(t, w, c.status, c.has...)
		for _, no := range c.hasNot {
			require.NotContains(t, w.Body.String(), no)
		}
		require.Empty(t, w.Result().Cookies())
	}
	require.NotEmpty(t, back(t, u.signIn(page, " ADA@example.com ", right), callback).Get("code"))
}

// "the same answer and time for an unknown user"; the time is measured by hand, see docs/performance.md.
func TestUnknownUserIsAnsweredAlike(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-bob", b.Now()); return err })
	var said []string
	for _, email := range []string{"ada@example.com", "bob@example.com", "eve@example.com"} {
		u := b.browser()
		plain := "wrong horse"
		if email == "bob@example.com" {
			plain = right
		}
		w := u.signIn(u.authorize(base()), email, plain)
		require.Equal(t, http.StatusForbidden, w.Code)
		said = append(said, strings.ReplaceAll(w.Body.String(), email, "x"))
	}
	require.Equal(t, said[0], said[1])
	require.Equal(t, said[0], said[2])
}

// Fifty clients guess, each time from another address, so that passwords wait to be hashed. Somebody who signed in
// before at their address gets in. The places are the process's, and this test is alone with them: those that run in
// parallel wait until it has ended.
func TestGuessersKeepNobodyOut(t *testing.T) {
	b := newFixture(t)
	u := b.browser()
	require.NotEmpty(t, u.enter(base()).Get("code"))

	var guessing sync.WaitGroup
	var guesses, busy atomic.Int64
	stop := make(chan struct{})
	guess := func() int {
		n := guesses.Add(1)
		form := url.Values{"request": {base().values().Encode()}, "email": {"bob@example.com"}, "password": {"a guess"},
			"action": {"sign-in"}}
		r := httptest.NewRequest(http.MethodPost, "/oauth/sign-in", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Test-Address", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
		w := httptest.NewRecorder()
		b.Provider.ServeHTTP(w, r)
		return w.Code
	}
	for range 50 {
		guessing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if guess() == http.StatusTooManyRequests {
					busy.Add(1)
				}
			}
		})
	}
	t.Cleanup(func() { close(stop); guessing.Wait() })
	for range 2 {
		before := busy.Load()
		require.Eventually(t, func() bool { return busy.Load() > before }, time.Minute, time.Millisecond)
		again := base().with(params{"prompt": "login"})
		require.NotEmpty(t, back(t, u.signIn(u.authorize(again), "ada@example.com", right), callback).Get("code"))
	}
}

// "the delay doubles to 30 s, then 429; never a lockout"
func TestGuessing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	page := u.authorize(base())
	for range 3 {
		requirePage(t, u.signIn(page, "ada@example.com", "wrong"), http.StatusForbidden)
	}
	w := u.signIn(page, "ADA@example.com", right)
	requirePage(t, w, http.StatusTooManyRequests, "Wait 1 s", `id="password-error"`)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	b.Clock.Advance(time.Second)
	require.NotEmpty(t, back(t, u.signIn(page, "ada@example.com", right), callback).Get("code"))
}

// Who opens the address of a form, or one that does not exist, is told what to do.
func TestNoPage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for path, want := range map[string]int{
		"/oauth/sign-in": http.StatusMethodNotAllowed, "/oauth/factor": http.StatusMethodNotAllowed,
		"/oauth/consent": http.StatusMethodNotAllowed, "/oauth/sign-out": http.StatusMethodNotAllowed,
		"": http.StatusNotFound, "/oauth/authorise": http.StatusNotFound,
	} {
		ask := func(accept, language string) *httptest.ResponseRecorder {
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path},
				Header: http.Header{"Accept": {accept}, "Accept-Language": {language}}}
			w := httptest.NewRecorder()
			b.Provider.ServeHTTP(w, r)
			return w
		}
		w := ask("text/html,application/xhtml+xml,*/*;q=0.8", "en")
		requirePage(t, w, want, "There is no page here", "Go back to the application")
		require.Equal(t, want == http.StatusMethodNotAllowed, w.Header().Get("Allow") == "POST", path)
		requirePage(t, ask("text/html", "de"), want, "Hier ist keine Seite")
		w = ask("*/*", "en")
		require.Equal(t, want, w.Code)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	}
}

// A person who opens the root of the mount finds what it is for.
func TestHomePage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for language, title := range map[string]string{"en": "Sign-in", "de": "Anmeldung"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", language)
		w := httptest.NewRecorder()
		b.Provider.ServeHTTP(w, r)
		require.Equal(t, http.StatusNotFound, w.Code, "for a program")
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		r.Header.Set("Accept", "text/html")
		w = httptest.NewRecorder()
		b.Provider.ServeHTTP(w, r)
		requirePage(t, w, http.StatusOK, "<h1>"+title+"</h1>", "Initech Recruiting", ".well-known/openid-configuration")
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, c := range []struct{ locales, header, lang string }{
		{"", "", "en"}, {"", "de-AT,de;q=0.9,en;q=0.8", "de"}, {"", "fr,en;q=0.5", "en"}, {"", "fr", "en"},
		{"de", "en", "de"}, {"xx de-CH en", "en", "de"}, {"en-GB", "de", "en"}, {"???", "de", "de"},
	} {
		b.Clock.Advance(time.Hour) // whoever guessed is let through again
		u := b.browser()
		u.headers.Set("Accept-Language", c.header)
		w := u.authorize(base().with(params{"ui_locales": c.locales}))
		requirePage(t, w, http.StatusOK, `<html lang="`+c.lang+`">`)
		require.Equal(t, c.lang, w.Header().Get("Content-Language"))
		if c.lang == "de" {
			require.Contains(t, w.Body.String(), "Passwort")
			requirePage(t, u.signIn(w, "ada@example.com", "falsch"), http.StatusForbidden,
				"E-Mail-Adresse oder Passwort stimmt nicht.")
		}
	}
}

// "CSRF protection (net/http's CrossOriginProtection)"
func TestFormsFromElsewhere(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, path := range []string{"/oauth/sign-in", "/oauth/consent", "/oauth/sign-out"} {
		for name, headers := range map[string]http.Header{
			"cross-site": {"Sec-Fetch-Site": {"cross-site"}}, "same-site": {"Sec-Fetch-Site": {"same-site"}},
			"origin": {"Sec-Fetch-Site": nil, "Origin": {"https://evil.example"}},
			"null":   {"Sec-Fetch-Site": nil, "Origin": {"null"}},
		} {
			u := b.browser()
			u.headers = headers
			w := u.ask(http.MethodPost, path, url.Values{"request": {base().values().Encode()}, "email": {"ada@example.com"},
				"password": {right}, "action": {"allow"}})
			requirePage(t, w, http.StatusForbidden, "This form was not ours")
			require.Empty(t, w.Result().Cookies(), name)
		}
	}
}

// "new session id on sign-in"; the former one ends.
func TestSessionIsNew(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	planted := "planted"
	var name string
	u.enter(base())
	for n := range u.cookies {
		name = n
	}
	first := u.cookies[name]
	require.Regexp(t, `^__Host-signin-[0-9a-f]{8}$`, name)
	u.enter(base().with(params{"prompt": "login"}))
	second := u.cookies[name]
	require.NotEqual(t, first, second)
	for value, good := range map[string]bool{first: false, second: true, planted: false, "": false} {
		old := b.browser()
		old.cookies[name] = value
		w := old.authorize(base())
		require.Equal(t, good, w.Code == http.StatusFound, value)
	}
	victim := b.browser()
	victim.cookies[name] = planted
	victim.enter(base())
	require.NotEqual(t, planted, victim.cookies[name])
}

// The log of sign-ins has who, client, result and address, and nothing else of anybody.
func TestLog(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	page := u.authorize(base())
	u.signIn(page, "ada@example.com", "a wrong password")
	u.signIn(page, "eve@example.com", "a wrong password")
	code := back(t, u.signIn(page, "ada@example.com", right), callback).Get("code")
	issued := requireTokens(t, b.exchange("app", code))
	b.exchange("other", "a wrong code")
	b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {issued.RefreshToken}})
	u.ask(http.MethodPost, "/oauth/sign-out", url.Values{"x": {""}})
	page2, next, err := b.Runtime.Store().ListSigninEntries(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Zero(t, next)
	var got []identity.Entry
	for _, e := range page2 {
		require.Equal(t, identity.Entry{ID: e.ID, At: b.Now(), Event: e.Event, Result: e.Result, Issuer: issuer,
			Client: e.Client, UserID: e.UserID, Address: address}, *e)
		got = append(got, identity.Entry{Event: e.Event, Result: e.Result, Client: e.Client, UserID: e.UserID})
	}
	require.Equal(t, []identity.Entry{
		{Event: "sign-out", Result: "success", UserID: "user-ada"},
		{Event: "refresh", Result: "success", Client: "app", UserID: "user-ada"},
		{Event: "token", Result: "invalid_grant", Client: "other"},
		{Event: "token", Result: "success", Client: "app", UserID: "user-ada"},
		{Event: "authorize", Result: "success", Client: "app", UserID: "user-ada"},
		{Event: "sign-in", Result: "success", Client: "app", UserID: "user-ada"},
		{Event: "sign-in", Result: "wrong_password", Client: "app"},
		{Event: "sign-in", Result: "wrong_password", Client: "app", UserID: "user-ada"},
	}, got)
	for _, line := range b.Logged.All() {
		for _, secret := range []string{code, issued.AccessToken, issued.RefreshToken, "ada@", "a wrong", secretOf("app"),
			"Lovelace"} {
			require.NotContains(t, line.Message, secret)
			for _, f := range line.Context {
				require.NotContains(t, f.String, secret)
			}
		}
	}
}

// Without a title, pages call the service by the name of the only tenant; by service_name where there are several.
func TestPagesNameTheOnlyTenant(t *testing.T) {
	t.Parallel()
	initech, named := gatewaytest.Tenant("initech"), gatewaytest.Tenant("acme")
	initech.Title, named.Title = "Initech Recruiting", "Acme"
	for want, tenants := range map[string][]*model.Tenant{
		"Initech Recruiting": {initech}, "Service": {initech, named},
	} {
		b := gatewaytest.New(t, tenants...)
		p := signin.New(signin.Provider{Gateway: b.Gateway, Issuer: issuer, Log: b.Log})
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept", "text/html")
		p.ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), "sign in at "+want+".")
	}
}
