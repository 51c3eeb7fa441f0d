package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
)

// Whoever is not signed in goes to sign in, and then to the page that they wanted.
func TestSignInComesFirst(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, path := range []string{"/", "/exports?tenant=acme", "/nothing"} {
		w := b.send("", http.MethodGet, path, nil)
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, "/console/sign-in?"+url.Values{"to": {path}}.Encode(), w.Header().Get("Location"))
	}
	w := b.send("", http.MethodPost, "/exports/acme/x/redeliver", nil)
	require.Equal(t, "/console/sign-in?to=%2F%3Fdone%3Dnothing", w.Header().Get("Location"), "what a form wanted is not done later")
}

// The role follows the address that the provider has verified, or a group. A session lasts an hour, at its own console.
func TestSessions(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	status := func(k session.Person) int {
		return b.send("", http.MethodGet, "/tenants", nil, func(r *http.Request) { b.signedIn(r, "1", k) }).Code
	}
	require.Equal(t, http.StatusOK, status(session.Person{Email: ops}))
	require.Equal(t, http.StatusOK, status(session.Person{Groups: []string{"acme-viewers"}}))
	require.Equal(t, http.StatusForbidden, status(session.Person{Email: "else@example.com"}))
	require.Equal(t, http.StatusForbidden, status(session.Person{}), "an address that is not verified")

	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://gate.example/", nil)
	b.signedIn(r, "1", session.Person{Email: ops})
	good := r.Cookies()[0].Value
	with := func(value string) int {
		return b.send("", http.MethodGet, "/tenants", nil, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: b.cookie, Value: value})
		}).Code
	}
	require.Equal(t, http.StatusOK, with(good))
	for _, value := range []string{"", "x", good + "x", good[1:]} {
		require.Equal(t, http.StatusSeeOther, with(value))
	}
	copied := *b.Console
	copied.URL = "https://other.example/console"
	other, err := New(copied)
	require.NoError(t, err)
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://other.example/tenants", nil)
	r.AddCookie(&http.Cookie{Name: other.cookie, Value: good})
	w := httptest.NewRecorder()
	other.ServeHTTP(w, r)
	require.Equal(t, http.StatusSeeOther, w.Code, "it is a session of another console")
	b.Clock.Advance(time.Hour)
	require.Equal(t, http.StatusSeeOther, with(good), "it has ended")
}

// A form of another site changes nothing.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for name, change := range map[string]func(*http.Request){
		"cross-site": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another origin": func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "https://evil.example")
		},
	} {
		w := b.send(ops, http.MethodPost, "/tenants/acme/integrations/hris/disable", nil, change)
		require.Equal(t, http.StatusForbidden, w.Code, name)
	}
	require.NotContains(t, b.see(ops, "/tenants/acme/integrations/hris", http.StatusOK), "disabled")
}

// An answer of the provider counts in the browser that asked for it, and leads to our own pages only.
func TestWayToTheProvider(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q}`, provider.URL, provider.URL+"/authorize")
	}))
	t.Cleanup(provider.Close)
	b.Issuer.Issuer = provider.URL
	for asked, kept := range map[string]string{"/exports?q=1": "/exports?q=1", "//evil.example": "/",
		"https://evil.example": "/", "/\\evil.example": "/", "": "/", "/../signin/oauth/logout": "/", "/exports/..": "/",
		"/%2e%2e/signin": "/", "/exports/%2e%2e/%2E%2E/x": "/", "/.%2e/x": "/", "/exports//x": "/exports//x", "/%0aSet-Cookie:x": "/",
		"/exports\x00": "/", "/exports\u0085": "/", "/%5c%5cevil.example": "/", "/exports/acme/a%2Fb": "/exports/acme/a%2Fb",
		"/exports?q=1#x": "/exports?q=1#x", "exports": "/", "/": "/"} {
		w := b.send("", http.MethodGet, "/sign-in?"+url.Values{"to": {asked}}.Encode(), nil)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		to, err := url.Parse(w.Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, provider.URL, to.Scheme+"://"+to.Host)
		require.Equal(t, here+"/callback", to.Query().Get("redirect_uri"))
		require.Equal(t, "S256", to.Query().Get("code_challenge_method"))
		cookie := w.Result().Cookies()[0]
		require.True(t, cookie.Secure && cookie.HttpOnly)
		returning := httptest.NewRequestWithContext(t.Context(), http.MethodGet, here, nil)
		returning.AddCookie(cookie)
		v := b.site().Visit(returning, to.Query().Get("state"))
		require.NotNil(t, v)
		require.Equal(t, kept, v.To)

		callback := "/callback?code=c&state=" + url.QueryEscape(v.State)
		same := func(r *http.Request) { r.AddCookie(cookie) }
		foreign := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: "sealed-by-another-key"}) }
		for n, one := range []func(*http.Request){func(*http.Request) {}, foreign, same} {
			w = b.send("", http.MethodGet, []string{callback, callback, "/callback?code=c&state=guessed"}[n], nil, one)
			require.Equal(t, http.StatusBadRequest, w.Code)
			require.Contains(t, w.Body.String(), []string{"it began in another browser", "the gateway’s key was changed",
				"it began in another browser"}[n])
		}
		w = b.send("", http.MethodGet, callback, nil, same)
		require.Equal(t, http.StatusBadGateway, w.Code, "the code can't be redeemed")
		require.NotContains(t, w.Header().Values("Set-Cookie"), b.cookie+"=")
	}
	w := b.send("", http.MethodGet, "/sign-in", nil)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	b.Clock.Advance(15 * time.Minute)
	w = b.send("", http.MethodGet, "/callback?code=c&state="+url.QueryEscape(to.Query().Get("state")), nil,
		func(r *http.Request) { r.AddCookie(w.Result().Cookies()[0]) })
	require.Contains(t, w.Body.String(), "took longer than 15 minutes")
}

// At the gateway's own sign-in the console registers itself, once for all nodes, and leaves alone what people change.
func TestTheConsoleRegistersItself(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var own, another oidcclient.Provider
	require.NoError(t, OwnClient(&own, b.Vault, here))
	require.NoError(t, OwnClient(&another, b.Vault, "https://other.example/console"))
	require.NotEqual(t, own.ClientID, another.ClientID)
	require.NotEqual(t, own.Secret, another.Secret)
	b.Issuer.ClientID, b.Issuer.Secret, b.Own = own.ClientID, own.Secret, true
	db := b.Fixture.Gateway.Runtime.Store()
	for _, name := range []string{"Console", "What people call it"} {
		require.NoError(t, b.register(t.Context()))
		client, err := db.Client(t.Context(), own.ClientID)
		require.NoError(t, err)
		require.Equal(t, []string{here + "/callback"}, client.RedirectURIs)
		require.Equal(t, name, client.Name)
		secrets, err := db.ListClientSecrets(t.Context(), own.ClientID)
		require.NoError(t, err)
		require.Equal(t, []identity.Hash{identity.HashSecret(own.Secret)}, secrets)
		b.Write(t, func(tx *store.Tx) error {
			client.Name = "What people call it"
			_, err := tx.UpdateClient(client)
			return err
		})
	}
	require.Equal(t, 1, strings.Count(b.see(ops, "/audit", http.StatusOK), own.ClientID+"</bdi>"))

	// Somebody disables it, and enables it again with another secret.
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.DisableClient(own.ClientID, b.Clock.Now())
		return err
	})
	require.NoError(t, b.register(t.Context()))
	client, err := db.Client(t.Context(), own.ClientID)
	require.NoError(t, err)
	require.False(t, client.DisabledAt.IsZero(), "that is theirs to say")
	b.Clock.Advance(time.Second)
	_, theirs := identity.NewSecret()
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.InsertClientSecret(own.ClientID, theirs, b.Clock.Now()); err != nil {
			return err
		}
		if err := tx.DeleteOlderClientSecrets(own.ClientID); err != nil {
			return err
		}
		_, err := tx.EnableClient(own.ClientID)
		return err
	})
	b.Clock.Advance(time.Second)
	require.NoError(t, b.register(t.Context()))
	secrets, err := db.ListClientSecrets(t.Context(), own.ClientID)
	require.NoError(t, err)
	require.Contains(t, secrets, identity.HashSecret(own.Secret))
}

// Who has no role is no prisoner of their session: they sign out, and sign in as somebody else.
func TestWhoHasNoRoleSignsOut(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	text := b.see("nobody@example.com", "/exports", http.StatusForbidden)
	require.Contains(t, text, "have no role here")
	require.Contains(t, text, `action="/console/sign-out"`)
}

// An address whose dots lead to another page, as handle_path follows them, is none.
func TestDotsLeadNowhere(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, who := range []string{ops, ""} {
		w := b.send(who, http.MethodGet, "/", nil, func(r *http.Request) {
			*r = *gateway.WithOriginalPath(r, "/console/people/..")
		})
		require.Equal(t, http.StatusNotFound, w.Code, w.Body)
		require.Contains(t, w.Body.String(), "There is nothing at this address")
	}
}

// Whose session ends before they send a form comes back to the page with the form, and reads that nothing was done.
func TestSessionEndsBeforeAForm(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	export := "/exports/acme/" + uuid(1)
	for from, want := range map[string]string{
		here + export:                            export + "?done=nothing",
		here + "/exports?tenant=acme&done=erase": "/exports?done=nothing&tenant=acme",
		here + export + "/body":                  "/?done=nothing", // the page answered a form
		"https://elsewhere.example" + export:     "/?done=nothing",
		"":                                       "/?done=nothing",
		here + "//elsewhere.example/exports":     "/?done=nothing",
		here + "/exports/../../x":                "/?done=nothing",
	} {
		w := b.send("", http.MethodPost, export+"/erase", url.Values{"sure": {"yes"}}, func(r *http.Request) {
			r.Header.Set("Referer", from)
		})
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, "/console/sign-in?"+url.Values{"to": {want}}.Encode(), w.Header().Get("Location"), from)
	}
	text := b.see(ops, export+"?done=nothing", http.StatusOK)
	require.Contains(t, text, "nothing was done")
	require.Contains(t, text, `class="banner warn"`)
}

// Where the provider's certificate is of an authority that is not known, the page says what to configure.
func TestAProviderOfAnUnknownAuthority(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	provider := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(provider.Close)
	b.Issuer.Issuer = provider.URL
	w := b.send("", http.MethodGet, "/sign-in", nil)
	require.Equal(t, http.StatusBadGateway, w.Code)
	require.Contains(t, w.Body.String(), "has to name the file of that authority with ca, in the block of console")
}
