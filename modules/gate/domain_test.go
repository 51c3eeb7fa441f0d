package gate_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/modules/gate"
)

const (
	shop = "https://shop.eu.acme.example"
	auth = "https://auth.acme.example"
)

// newShared has an application at the hosts below a domain, whose people sign in at one of them.
func newShared(t *testing.T) *fixture {
	t.Helper()
	b := newFixture(t)
	b.Domain, b.SignIn = "acme.example", "auth.acme.example"
	return b
}

// asks reports whether a host asks to sign in, where nobody is.
func (u *browser) asks(host string) bool {
	u.b.t.Helper()
	w := u.ask(http.MethodGet, host+"/api", nil)
	require.Contains(u.b.t, []int{http.StatusOK, http.StatusUnauthorized}, w.Code, w.Body)
	require.Equal(u.b.t, w.Code == http.StatusOK, u.b.got != nil)
	return w.Code == http.StatusUnauthorized
}

// Who signs in on the way to a page of one host ends there, by way of the sign-in host, and is signed in at all hosts of the
// domain. Signed out at one, they are at none.
func TestHostsShareASession(t *testing.T) {
	t.Parallel()
	b := newShared(t)
	u := b.browser()
	w := u.ask(http.MethodGet, shop+"/deep?q=%2F&x=1", nil, page)
	require.Equal(t, auth+"/oauth2/start?rd="+url.QueryEscape(shop+"/deep?q=%2F&x=1"), w.Header().Get("Location"))
	require.Empty(t, w.Result().Cookies(), "a visit begins where it ends")
	at, shown := u.open(w.Header().Get("Location"))
	require.Contains(t, at, url.QueryEscape(auth+"/oauth2/callback"))
	at, w = u.password(shown, ada)
	require.Equal(t, []string{shop + "/deep?q=%2F&x=1", "the application"}, []string{at, w.Body.String()})
	require.NotContains(t, b.got.Header.Get("Cookie"), "gate-")
	for _, host := range []string{here, auth, "https://acme.example", "https://a_b.acme.example"} {
		require.False(t, u.asks(host), host)
	}
	page, _, err := b.Runtime.Store().ListConsoleSessions(t.Context(), access.SessionsOf{Site: "https://*.acme.example/oauth2"},
		[32]byte{}, 10, b.Clock.Now())
	require.NoError(t, err)
	require.Len(t, page, 1)

	thief := b.browser()
	maps.Copy(thief.cookies, u.cookies)
	require.False(t, thief.asks(here))
	_, w = u.open(here + "/oauth2/sign_out")
	require.Contains(t, w.Body.String(), "You are signed out")
	for _, host := range []string{here, shop, auth} {
		require.True(t, u.asks(host), host)
		require.True(t, thief.asks(host), host)
	}
	at, _ = u.open(here + "/")
	require.Contains(t, at, "prompt=login", "another host learns that they signed out")

	b.SignIn = "" // each host leads back to itself
	u = b.browser()
	u.enter(here+"/x", ada)
	require.False(t, u.asks(shop))
	require.NotContains(t, strings.Join(b.got.Header["Cookie"], ""), "gate-")
}

// Tabs of several hosts end on their own pages, in any order. A browser has five states, whichever hosts they are for.
func TestTabsOfSeveralHosts(t *testing.T) {
	t.Parallel()
	b := newShared(t)
	u := b.browser()
	pages := []string{here + "/0", shop + "/1", here + "/2", auth + "/3", shop + "/4", here + "/5"}
	var shown []*httptest.ResponseRecorder
	for _, address := range pages {
		_, w := u.open(address)
		shown = append(shown, w)
		b.Clock.Advance(time.Second)
	}
	visits := 0
	for name := range u.cookies {
		if strings.Contains(name, "-visit-") {
			visits++
		}
	}
	require.Equal(t, 5, visits)
	for _, n := range []int{3, 1, 5, 2, 4} {
		at, _ := u.password(shown[n], ada)
		require.Equal(t, pages[n], at)
	}
	at, _ := u.password(shown[0], ada)
	require.Equal(t, auth+"/", at, "the sixth took its place")
}

// What another host of the domain sets signs nobody in as somebody else: a visit is one of the browser that began it.
func TestPlantedVisits(t *testing.T) {
	t.Parallel()
	for _, signIn := range []string{"auth.acme.example", ""} {
		b := newShared(t)
		b.SignIn = signIn
		mallory := b.browser()
		_, shown := mallory.open(auth + "/oauth2/start?rd=/")
		back := mallory.submit(shown, bob)
		require.Contains(t, back, auth+"/oauth2/callback?")
		victim := b.browser()
		for name, value := range mallory.cookies {
			if rest, ok := strings.CutPrefix(name, "__Host-gate-"); ok {
				victim.cookies["__Secure-gate-"+rest] = value // by the only name that has a domain
				victim.cookies["gate-"+rest] = value
			}
		}
		require.NotEmpty(t, victim.cookies)
		at, _ := victim.open(back)
		require.Contains(t, at, b.issuer+"/oauth/authorize?", "they sign in themselves")
		require.True(t, victim.asks(auth))
		b.Allow.Anyone = true
		mallory.open(back)
		require.False(t, mallory.asks(auth), "the state was good")
	}
}

// A session of a domain is none at a host that has its own, at another domain, nor at another provider, by whatever name a
// cookie comes. Who may come in is decided at each host.
func TestSessionsAreBoundToTheirDomain(t *testing.T) {
	t.Parallel()
	b := newShared(t)
	u := b.browser()
	u.enter(shop+"/", ada)
	shared := u.cookies[sharedCookie(u)]
	require.NotEmpty(t, shared)
	everywhere := func(value string) *browser { // by the names of the gate as it is now
		moved := b.browser()
		_, _ = moved.open(here + b.Prefix + "/start")
		for name := range moved.cookies {
			if prefix, _, ok := strings.Cut(name, "-visit-"); ok {
				moved.cookies[prefix] = value
				moved.cookies[strings.Replace(prefix, "__Host-", "__Secure-", 1)] = value
			}
		}
		require.Len(t, moved.cookies, 3)
		moved.hosts = map[string]string{}
		return moved
	}
	require.False(t, everywhere(shared).asks(here))
	for name, change := range map[string]func(*gate.Gate){
		"no domain":        func(g *gate.Gate) { g.Domain, g.SignIn = "", "" },
		"a smaller domain": func(g *gate.Gate) { g.Domain, g.SignIn = "eu.acme.example", "" },
		"a larger domain":  func(g *gate.Gate) { g.Domain, g.SignIn = "example", "" },
		"another client":   func(g *gate.Gate) { g.Provider.ClientID = "other" },
		"another prefix":   func(g *gate.Gate) { g.Prefix = "/other" },
	} {
		domain, signIn, client, prefix := b.Domain, b.SignIn, b.Provider.ClientID, b.Prefix
		change(b.Gate)
		for _, host := range []string{here, shop, "https://acme.example"} {
			require.True(t, u.asks(host), name)
			require.True(t, everywhere(shared).asks(host), name)
		}
		b.Domain, b.SignIn, b.Provider.ClientID, b.Prefix = domain, signIn, client, prefix
	}
	require.False(t, u.asks(here))

	b.Allow.Emails = []string{bob}
	require.Equal(t, http.StatusForbidden, u.ask(http.MethodGet, here+"/", nil).Code)
	b.Allow.Emails = []string{ada}
	require.False(t, u.asks(here))

	// Nor is a session of one host one of the domain.
	b.Domain, b.SignIn = "", ""
	u = b.browser()
	u.enter(auth+"/", ada)
	own := u.cookies[sessionCookie(u)]
	b.Domain = "acme.example"
	require.True(t, everywhere(own).asks(auth))
}

func sharedCookie(u *browser) string {
	for name := range u.cookies {
		if strings.HasPrefix(name, "__Secure-gate-") {
			return name
		}
	}
	return ""
}

// Nobody is led out of the domain, after a sign-in or a sign-out, nor to another port or scheme.
func TestReturnAddressesOfADomain(t *testing.T) {
	t.Parallel()
	b := newShared(t)
	u := b.browser()
	u.enter(shop+"/", ada)
	const home = auth + "/"
	for rd, want := range map[string]string{
		"": home, "/x?y=1": auth + "/x?y=1", shop + "/x?y=1#z": shop + "/x?y=1#z", shop: shop + "/", shop + "/": shop + "/",
		"https://acme.example/x": "https://acme.example/x", here + "?x": here + "/", here + "/a/../b": here + "/", here + "/%2e%2e/b": here + "/",
		here + "//evil.example/": here + "/", here + `/\evil.example/`: here + "/", here + "/\r\nX: y": home, here + "/%0d%0aX:y": here + "/",
		shop + here + "/x": home, here + "/" + strings.Repeat("x", 2<<10): here + "/",
		"https://evilacme.example/": home, "https://acme.example.evil.example/": home, "https://evil.example/.acme.example": home,
		"https://evil.example?.acme.example": home, "https://evil.example#.acme.example": home, `https://evil.example\.acme.example/`: home,
		"https://evil.example;.acme.example/": home, "https://evil.example%2f.acme.example/": home, "https://evil.example%EF%BC%8F.acme.example/": home,
		"https://evil.example／.acme.example/x": home, "https://evil.example%00.acme.example/": home, "https://evil.example%5c.acme.example/": home,
		"https://evil.example\t.acme.example/": home, "https://.acme.example/": home, "https://app..acme.example/": home,
		"https://acme.example./": home, "https://APP.acme.example/x": home, "https://example/": home, "https://[::1].acme.example/": home,
		"https://app.acme.example:8443/": home, "https://app.acme.example:443@evil.example/": home, "https://app.acme.example:/x": "https://app.acme.example:/x",
		"http://app.acme.example/": home, "ftp://app.acme.example/": home, "javascript://app.acme.example/%0aalert(1)": home,
		"https://app.acme.example@evil.example/": home, `https://evil.example\@app.acme.example/`: home, "https://u:p@app.acme.example/x": here + "/",
		"https://evil.example@app.acme.example/x": here + "/", "//app.acme.example/": home, "///app.acme.example": home, `/\app.acme.example`: home,
		`\\app.acme.example`: home, "https:app.acme.example/x": home, "https:/app.acme.example/x": home, "https:///app.acme.example/x": home,
		" https://app.acme.example/x": home, "HTTPS://app.acme.example/x": here + "/", "https://evil.example/": home, "//evil.example": home,
	} {
		query := "?" + url.Values{"rd": {rd}}.Encode()
		at, _ := u.open(auth + "/oauth2/start" + query)
		require.Equal(t, want, at, "%q", rd)
		if rd != "" {
			out := b.browser().ask(http.MethodGet, auth+"/oauth2/sign_out"+query, nil, page)
			require.Equal(t, want, out.Header().Get("Location"), "%q", rd)
		}
	}
	w := b.browser().ask(http.MethodGet, here+"/oauth2/start?rd="+url.QueryEscape("https://evilacme.example/"), nil, page)
	require.Equal(t, auth+"/oauth2/start?rd="+url.QueryEscape(here+"/"), w.Header().Get("Location"))
	b.Domain, b.SignIn = "", ""
	out := u.ask(http.MethodGet, here+"/oauth2/sign_out?rd="+url.QueryEscape(shop+"/"), nil, page)
	require.Equal(t, here+"/", out.Header().Get("Location"), "without a domain, each host is by itself")
}

func TestDomains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		domain gate.Domain
		signIn string
		want   string // of the error; empty: none
	}{
		{"acme.example", "", ""}, {"acme.example", "auth.acme.example", ""}, {"acme.example", "acme.example", ""},
		{"gate.localhost", "auth.gate.localhost:8443", ""}, {"acme.co.uk", "", ""}, {"acme.github.io", "", ""},
		{"xn--bcher-kva.example", "", ""},
		{"bücher.example", "", "write a domain"}, {"Acme.example", "", "write a domain"}, {".acme.example", "", "write a domain"},
		{"acme.example.", "", "write a domain"}, {"*.acme.example", "", "write a domain"}, {"acme.example:443", "", "write a domain"},
		{"https://acme.example", "", "write a domain"}, {"localhost", "", "write a domain"}, {"", "auth.acme.example", "write a domain"},
		{"127.0.0.1", "", "write a domain"}, {"::1", "", "write a domain"},
		{"co.uk", "", "such as acme.co.uk"}, {"github.io", "", "such as acme.github.io"}, {"s3.amazonaws.com", "", "belongs to many"},
		{"acme.example", "auth.globex.example", "such as auth.acme.example"}, {"acme.example", "evilacme.example", "not below it"},
		{"acme.example", "auth.acme.example/x", "not below it"}, {"acme.example", "https://auth.acme.example", "not below it"},
		{"acme.example", "u@auth.acme.example", "not below it"}, {"acme.example", "auth.acme.example:x", "not below it"},
	} {
		err := c.domain.Validate(c.signIn)
		if c.want == "" {
			require.NoError(t, err, c.domain)
		} else {
			require.ErrorContains(t, err, c.want, "%s %s", c.domain, c.signIn)
		}
	}
}
