package session_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/vault"
)

// browser keeps the cookies of a site.
type browser map[string]string

func (b browser) request(t *testing.T) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://app.example/", nil)
	for name, value := range b {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return r
}

func (b browser) take(w *httptest.ResponseRecorder) {
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b, c.Name)
		} else {
			b[c.Name] = c.Value
		}
	}
}

// leave sends a browser to the provider, and returns the state with which it left.
func leave(t *testing.T, site *session.Site, b browser, to string) string {
	t.Helper()
	w := httptest.NewRecorder()
	require.NoError(t, site.Leave(w, b.request(t), to, ""))
	b.take(w)
	at, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	return at.Query().Get("state")
}

func newSite(t *testing.T) (site *session.Site, advance func(time.Duration)) {
	t.Helper()
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q}`, provider.URL, provider.URL+"/authorize")
	}))
	t.Cleanup(provider.Close)
	sealing, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	return &session.Site{Address: "https://app.example", Callback: "https://app.example/callback", Cookie: "__Host-app",
		Vault: sealing, Now: now, Provider: &oidcclient.Provider{Issuer: provider.URL, ClientID: "app",
			Client: provider.Client(), Now: now}}, func(d time.Duration) { at = at.Add(d) }
}

// Each tab has its own way to the provider and back, in any order. A sixth one takes the place of the first.
func TestTabs(t *testing.T) {
	t.Parallel()
	site, advance := newSite(t)
	b := browser{}
	var states []string
	for n := range 6 {
		states = append(states, leave(t, site, b, fmt.Sprintf("/%d", n)))
		advance(time.Second)
	}
	require.Len(t, b, 5)
	require.Nil(t, site.Visit(b.request(t), states[0]))
	for _, n := range []int{3, 1, 5, 2, 4} {
		v := site.Visit(b.request(t), states[n])
		require.NotNil(t, v, n)
		require.Equal(t, fmt.Sprintf("/%d", n), v.To)
		require.Nil(t, site.Visit(browser{}.request(t), states[n]), "another browser")
	}
	require.Nil(t, site.Visit(b.request(t), states[3][:8]+"x"))
	require.Nil(t, site.Visit(b.request(t), ""))
	advance(15 * time.Minute)
	require.Nil(t, site.Visit(b.request(t), states[5]), "it took too long")

	// Tabs that open at once know nothing of each other.
	b = browser{}
	one, other := browser{}, browser{}
	first, second := leave(t, site, one, "/one"), leave(t, site, other, "/other")
	for _, from := range []browser{one, other} {
		for name, value := range from {
			b[name] = value
		}
	}
	require.Equal(t, "/one", site.Visit(b.request(t), first).To)
	require.Equal(t, "/other", site.Visit(b.request(t), second).To)
}

// A cookie stays below 4 KiB, and all of them below what proxies take, also with long addresses.
func TestCookiesOfLongAddresses(t *testing.T) {
	t.Parallel()
	site, advance := newSite(t)
	b := browser{}
	for range 7 {
		leave(t, site, b, "/"+strings.Repeat("x", session.MaxReturn-1))
		advance(time.Second)
		sum := 0
		for name, value := range b {
			require.Less(t, len(name)+len(value), 4<<10)
			sum += len(name) + len(value)
		}
		require.LessOrEqual(t, sum, 8<<10)
	}
	require.Len(t, b, 2)
}

// An application gets the cookies that are its own, as they came.
func TestRemoveCookies(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"a=1; __Host-app=s; b=\"2\"; __Host-app-visit-x=y": `a=1; b="2"`,
		"__Secure-app=s; __Secure-other=1; __Host-apps=1":  "__Secure-other=1",
		"__Host-app=s":       "",
		"a=1;__Host-app=s;c": "a=1; c",
		"x__Host-app=s":      "x__Host-app=s",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Cookie", sent)
		session.RemoveCookies(r, "app")
		require.Equal(t, want, r.Header.Get("Cookie"), sent)
	}
}
