package gate_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// A person signs in on the way to a page, and ends there. The application learns who they are, and nothing of cookies.
func TestSigningIn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Public = append(b.Public, "/oauth2/*") // which changes nothing: those addresses are the gate's
	u := b.browser()
	u.cookies["theirs"] = "1"
	w := u.enter(here+"/deep//link/?q=%2F&x", ada)
	require.Equal(t, "the application", w.Body.String())
	require.Equal(t, []string{"user-ada", ada, "Zo%C3%AB%2C%20user-ada", ""}, identityOf(b.got.Header))
	require.NotContains(t, b.got.Header.Get("Cookie"), "__Host-gate-")
	require.Contains(t, b.got.Header.Get("Cookie"), "theirs=1")
	require.True(t, u.in())
	for name := range u.cookies {
		if name != "theirs" && !strings.HasPrefix(name, "__Host-gate-") {
			require.Contains(t, name, "signin", "a cookie of sign-in")
		}
	}
}

func identityOf(h http.Header) (all []string) {
	for _, name := range []string{"User", "Email", "Name", "Groups"} {
		all = append(all, h.Get("X-Auth-Request-"+name))
	}
	return all
}

// Only a GET that navigates starts a sign-in: others get 401 as JSON.
func TestWhatStartsASignIn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		method string
		header func(*http.Request)
		starts bool
	}{
		"a page":                 {http.MethodGet, page, true},
		"an old browser":         {http.MethodGet, with("Accept", "text/html,*/*"), true},
		"a program":              {http.MethodGet, with("Accept", "*/*"), false},
		"a script":               {http.MethodGet, with("Sec-Fetch-Mode", "cors"), false},
		"a picture":              {http.MethodGet, with("Sec-Fetch-Mode", "no-cors"), false},
		"a websocket":            {http.MethodGet, with("Upgrade", "websocket"), false},
		"a form":                 {http.MethodPost, page, false},
		"a HEAD":                 {http.MethodHead, page, false},
		"a public path, it says": {http.MethodGet, with("X-Forwarded-Uri", "/healthz"), false}, // GHSA-7x63-xv5r-3p2x
		"a rewritten one":        {http.MethodGet, with("X-Original-Url", "/healthz"), false},
		"a health check":         {http.MethodGet, with("User-Agent", "GoogleHC/1.0"), false}, // GHSA-5hvv-m4w4-gf6v
		"what is fetched before": {http.MethodGet, func(r *http.Request) { page(r); r.Header.Set("Sec-Purpose", "prefetch") }, false},
	} {
		w := b.browser().ask(c.method, here+"/", nil, c.header)
		require.Nil(t, b.got, name)
		if c.starts {
			require.Equal(t, http.StatusSeeOther, w.Code, name)
			continue
		}
		require.Equal(t, http.StatusUnauthorized, w.Code, name)
		require.True(t, json.Valid(w.Body.Bytes()), name)
		require.Empty(t, w.Result().Cookies(), name)
	}
}

// Nobody says themselves who they are, in no spelling (GHSA-vjrc-mh2v-45x6), on public paths neither, nor for what is absent
// (GHSA-7r4p-vjf4-gxv4).
func TestForgedIdentities(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(here+"/", ada)
	forged := func(r *http.Request) {
		for _, name := range []string{"X-Auth-Request-Groups", "X-Auth-Request-Preferred-Username", "x-auth-request-email",
			"X_Auth_Request_User", "x-auth_request-Email", "X-AUTH-REQUEST-JWT", "X.Auth.Request.Name"} {
			r.Header[name] = []string{"mallory"}
		}
		r.Header["Connection"] = []string{"keep-alive, x-auth-request-user", "X_AUTH-Request-Groups,Upgrade"}
	}
	for _, path := range []string{"/", "/healthz"} {
		u.ask(http.MethodGet, here+path, nil, forged)
		require.NotNil(t, b.got, path)
		for name, values := range b.got.Header {
			require.NotContains(t, values, "mallory", "%s %s", path, name)
		}
		require.Equal(t, []string{"keep-alive", "Upgrade"}, b.got.Header["Connection"], "a proxy removes what stands there")
	}
	require.Empty(t, b.got.Header.Values("X-Auth-Request-User"), "a public path has nobody")
	w := u.ask(http.MethodGet, here+"/oauth2/auth", nil, forged)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, []string{""}, w.Header().Values("X-Auth-Request-Groups"), "an absent claim is empty, so that a client's is replaced")
}

// Who may come in is looked at each time, and a page says whom to ask.
func TestWhoMayComeIn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	_, shown := u.open(here + "/x")
	_, w := u.password(shown, bob)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Nil(t, b.got)
	for _, text := range []string{"app.acme.example isn’t for this account", bob, `href="mailto:ops@acme.example"`, "2026"} {
		require.Contains(t, w.Body.String(), text)
	}
	german := u.ask(http.MethodGet, here+"/x", nil, page, func(r *http.Request) { r.Header.Set("Accept-Language", "de-AT") })
	require.Contains(t, german.Body.String(), "app.acme.example ist nicht für dieses Konto")
	require.Equal(t, http.StatusForbidden, u.ask(http.MethodGet, here+"/x", nil).Code)
	require.Equal(t, http.StatusForbidden, u.ask(http.MethodGet, here+"/oauth2/auth", nil).Code)
	b.Allow.Emails = []string{bob}
	require.True(t, u.in())
	b.Allow.Emails = []string{"*@lsewhere.example"}
	require.Equal(t, http.StatusForbidden, u.ask(http.MethodGet, here+"/x", nil).Code)

	// Another account is asked for, although the provider knows this one.
	b.Allow.Emails = []string{"*@acme.example"}
	at, shown := u.open(here + "/oauth2/sign_out?rd=" + url.QueryEscape("/oauth2/start?rd=/x"))
	require.Contains(t, at, "prompt=login")
	at, _ = u.password(shown, ada)
	require.Equal(t, here+"/x", at)
	require.True(t, u.in())
}

// Three tabs end on their own pages, in any order. What comes back once more leads on, and nobody ends in a dead end.
func TestTabsAndTheWayBack(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	var shown []*httptest.ResponseRecorder
	for _, path := range []string{"/0", "/1", "/2"} {
		_, w := u.open(here + path)
		shown = append(shown, w)
	}
	var back []string
	for _, n := range []int{1, 2, 0} {
		to := u.submit(shown[n], ada)
		back = append(back, to)
		at, _ := u.open(to)
		require.Equal(t, here+"/"+string(rune('0'+n)), at)
	}
	at, w := u.open(back[0])
	require.Equal(t, here+"/", at, "used, with a session")
	require.Equal(t, "the application", w.Body.String())

	stranger := b.browser()
	at, w = stranger.open(back[0])
	require.Contains(t, at, b.issuer+"/oauth/authorize?", "without one, it starts afresh")
	to := stranger.submit(w, ada)
	at, _ = stranger.open(to)
	require.Equal(t, here+"/", at)

	hasty := b.browser()
	_, w = hasty.open(here + "/3")
	to = hasty.submit(w, ada)
	twice := b.browser() // asks once more before the answer is there, as when a page is reloaded
	maps.Copy(twice.cookies, hasty.cookies)
	hasty.open(to)
	at, w = twice.open(to)
	require.Equal(t, here+"/3", at)
	require.Equal(t, "the application", w.Body.String())

	blocked := b.browser() // it stores no cookies here
	_, w = blocked.open(back[1])
	to = blocked.submit(w, ada)
	maps.DeleteFunc(blocked.cookies, func(name, _ string) bool { return strings.HasPrefix(name, "__Host-gate-") })
	_, w = blocked.open(to)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "Allow cookies for this site")
}

// A session is one of its site, provider and browser, and signing in makes a new one.
func TestSessionsAreBound(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(here+"/", ada)
	require.Equal(t, http.StatusUnauthorized, u.ask(http.MethodGet, "https://other.example/", nil).Code)
	name := sessionCookie(u)
	first := u.cookies[name]
	moved := b.browser() // the same cookie by the other site's name
	at, _ := moved.open("https://other.example/")
	require.Contains(t, at, "other.example%2Foauth2%2Fcallback")
	for other := range moved.cookies {
		if prefix, _, ok := strings.Cut(other, "-visit-"); ok {
			moved.cookies[prefix] = first
		}
	}
	require.Equal(t, http.StatusUnauthorized, moved.ask(http.MethodGet, "https://other.example/", nil).Code)

	_, _ = u.open(here + "/oauth2/start?rd=/")
	require.NotEqual(t, first, u.cookies[name])
	fixed := b.browser()
	fixed.cookies[name] = first
	require.False(t, fixed.in(), "the session before ended")

	issuer := b.Provider.Issuer
	b.Provider.Issuer = "https://login.other.example"
	require.False(t, u.in(), "another provider")
	b.Provider.Issuer = issuer
	require.True(t, u.in())
	b.Clock.Advance(12 * time.Hour)
	require.False(t, u.in(), "its end")
}

func sessionCookie(u *browser) string {
	for _, name := range slices.Sorted(maps.Keys(u.cookies)) {
		if strings.HasPrefix(name, "__Host-gate-") && !strings.Contains(name, "-visit-") {
			return name
		}
	}
	return ""
}

// A session ends by sign-out, here or at sign-in, and when its user is disabled.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fixture, *browser){
		"sign-out": func(b *fixture, u *browser) {
			_, w := u.open(here + "/oauth2/sign_out")
			require.Contains(b.t, w.Body.String(), "You are signed out")
		},
		"sign-out with a page of sign-in after it": func(b *fixture, u *browser) { u.open(here + "/oauth2/sign_out?rd=/") },
		"disabled": func(b *fixture, _ *browser) {
			b.Write(b.t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-ada", b.Clock.Now()); return err })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			u := b.browser()
			u.enter(here+"/", ada)
			thief := b.browser()
			maps.Copy(thief.cookies, u.cookies)
			require.True(t, thief.in())
			end(b, u)
			require.False(t, u.in())
			require.False(t, thief.in(), "the cookie outlives it")
		})
	}
}

// Nobody is led elsewhere, after a sign-in or a sign-out.
func TestReturnAddresses(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(here+"/", ada)
	for rd, want := range map[string]string{
		"/x?y=1": here + "/x?y=1", here + "/x": here + "/x", "": here + "/", "/a//b/": here + "/a//b/",
		"/x/#/route": here + "/x/#/route", "/x/%2e%2e/..": here + "/", "/x/..%2fy": here + "/", here + "//evil.example": here + "/",
		here + here + "/x": here + "/", "/x%5cevil.example": here + "/", "/a/../../b": here + "/",
		"https://evil.example/": here + "/", "//evil.example": here + "/", "///evil.example": here + "/",
		`/\evil.example`: here + "/", `\\evil.example`: here + "/", "https:evil.example": here + "/",
		"https:/evil.example": here + "/", "https:///evil.example": here + "/", "/\r\nLocation: https://evil.example": here + "/",
		"/%0d%0aX:y": here + "/", "/x\n": here + "/", "/\tevil": here + "/", " //evil.example": here + "/",
		"http://app.acme.example/": here + "/", "https://app.acme.example@evil.example/": here + "/",
		"https://app.acme.example.evil.example/": here + "/", "https://u:p@app.acme.example/": here + "/",
		"javascript:alert(1)": here + "/", "x": here + "/",
	} {
		query := "?" + url.Values{"rd": {rd}}.Encode()
		at, _ := u.open(here + "/oauth2/start" + query)
		require.Equal(t, want, at, "%q", rd)
		if rd != "" {
			out := b.browser().ask(http.MethodGet, here+"/oauth2/sign_out"+query, nil, page)
			require.Equal(t, want, out.Header().Get("Location"), "%q", rd)
		}
	}
	w := b.browser().ask(http.MethodGet, "https://app.acme.example//evil.example/x", nil, page)
	require.Equal(t, http.StatusSeeOther, w.Code)
	at, _ := u.open("https://app.acme.example//evil.example/x")
	require.Equal(t, "https://app.acme.example//evil.example/x", at)
}

// A provider that is away leads to a page that says so, and disturbs nobody who is signed in.
func TestTheProviderIsAway(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(here+"/", ada)
	gone := httptest.NewServer(nil)
	gone.Close()
	other := newFixture(t)
	other.Provider.Issuer = gone.URL
	w := other.browser().ask(http.MethodGet, here+"/x", nil, page)
	require.Equal(t, http.StatusBadGateway, w.Code)
	require.Contains(t, w.Body.String(), "didn’t sign you in")
	require.Contains(t, w.Body.String(), `href="https://app.acme.example/oauth2/start?rd=https%3A%2F%2Fapp.acme.example%2Fx"`)
	b.signIn = nil
	require.True(t, u.in())

	for code, want := range map[string]string{"access_denied": "You are not signed in", "temporarily_unavailable": "<dd>temporarily_unavailable</dd>",
		"<script>": "didn’t sign you in"} {
		other := newFixture(t)
		u := other.browser()
		at, _ := u.open(here + "/")
		sent, err := url.Parse(at)
		require.NoError(t, err)
		_, w := u.open(here + "/oauth2/callback?" + url.Values{"error": {code}, "state": {sent.Query().Get("state")},
			"iss": {other.issuer}}.Encode())
		require.Contains(t, w.Body.String(), want)
		require.NotContains(t, w.Body.String(), "<script>")
		require.False(t, u.in())
	}
}

// A network that comes back from the provider too often waits.
func TestReturnsAreLimited(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var last int
	for range 301 {
		last = b.browser().ask(http.MethodGet, here+"/oauth2/callback?state=x", nil, page).Code
	}
	require.Equal(t, http.StatusTooManyRequests, last)
}

// userinfo and auth tell about a session, and start none.
func TestAskingAboutASession(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	for _, path := range []string{"/oauth2/auth", "/oauth2/userinfo"} {
		require.Equal(t, http.StatusUnauthorized, u.ask(http.MethodGet, here+path, nil, page).Code)
	}
	require.Equal(t, http.StatusNotFound, u.ask(http.MethodGet, here+"/oauth2/else", nil).Code)
	require.Equal(t, http.StatusMethodNotAllowed, u.ask(http.MethodPost, here+"/oauth2/auth", nil).Code)
	u.enter(here+"/", ada)
	var who struct{ User, Email string }
	require.NoError(t, json.Unmarshal(u.ask(http.MethodGet, here+"/oauth2/userinfo", nil).Body.Bytes(), &who))
	require.Equal(t, []string{"user-ada", ada}, []string{who.User, who.Email})
	w := u.ask(http.MethodGet, here+"/oauth2/auth", nil)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, []string{"user-ada", ada, "Zo%C3%AB%2C%20user-ada", ""}, identityOf(w.Header()))
	for method, header := range map[string]string{http.MethodPost: "cross-site", http.MethodGet: "same-site"} {
		foreign := u.ask(method, here+"/oauth2/sign_out", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", header) })
		require.Equal(t, http.StatusForbidden, foreign.Code, "a form elsewhere, or a picture")
		require.True(t, u.in())
	}
}

// A request that lasts, as a websocket does, ends with its session, and not before.
func TestRequestsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	u.enter(here+"/", ada)
	hash := identity.HashSecret(u.cookies[sessionCookie(u)])
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.ask(http.MethodGet, here+"/stream", nil)
	}()
	<-b.streaming
	select {
	case <-ended:
		require.Fail(t, "it ended before its session")
	case <-time.After(100 * time.Millisecond):
	}
	b.Write(t, func(tx *store.Tx) error { return tx.DeleteConsoleSession(hash) })
	<-ended
	require.False(t, u.in())
}
