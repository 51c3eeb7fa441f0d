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

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/relying"
	"github.com/hiregate/hiregate/internal/store"
)

// Whoever is not signed in goes to sign in, and then to the page that they wanted.
func TestSignInComesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/", "/exports?tenant=acme", "/nothing"} {
		w := b.send("", http.MethodGet, path, nil)
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, "/console/sign-in?"+url.Values{"to": {path}}.Encode(), w.Header().Get("Location"))
	}
	w := b.send("", http.MethodPost, "/exports/acme/x/redeliver", nil)
	require.Equal(t, "/console/sign-in?to=%2F", w.Header().Get("Location"), "what a form wanted is not done later")
}

func TestSessions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	status := func(s session, change ...func(*http.Request)) int {
		change = append(change, func(r *http.Request) { b.signedIn(r, s) })
		return b.send("", http.MethodGet, "/tenants", nil, change...).Code
	}
	till := b.Clock.Now().Add(time.Minute)
	require.Equal(t, http.StatusOK, status(session{Subject: "1", Email: ops, Till: till}))
	require.Equal(t, http.StatusOK, status(session{Subject: "1", Groups: []string{"acme-viewers"}, Till: till}))
	require.Equal(t, http.StatusForbidden, status(session{Subject: "1", Email: "else@example.com", Till: till}))
	require.Equal(t, http.StatusForbidden, status(session{Subject: "1", Till: till}), "an address that is not verified")
	require.Equal(t, http.StatusSeeOther, status(session{Subject: "1", Email: ops, Till: b.Clock.Now()}), "it has ended")

	// A ticket of sign-in is no session, and one of another console is none here.
	ticket, err := b.Vault.SealTicket(forVisits, b.URL, session{Subject: "1", Email: ops, Till: till})
	require.NoError(t, err)
	other, err := b.Vault.SealTicket(forSessions, "https://other.example/console", session{Email: ops, Till: till})
	require.NoError(t, err)
	for _, value := range []string{ticket, other, "", "x"} {
		w := b.send("", http.MethodGet, "/", nil, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: b.cookie, Value: value})
		})
		require.Equal(t, http.StatusSeeOther, w.Code)
	}
}

// A form of another site changes nothing.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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
	b := newBench(t)
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q}`, provider.URL, provider.URL+"/authorize")
	}))
	t.Cleanup(provider.Close)
	b.Issuer.Issuer = provider.URL
	for asked, kept := range map[string]string{"/exports?q=1": "/exports?q=1", "//evil.example": "/",
		"https://evil.example": "/", "/\\evil.example": "/", "": "/"} {
		w := b.send("", http.MethodGet, "/sign-in?"+url.Values{"to": {asked}}.Encode(), nil)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		to, err := url.Parse(w.Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, provider.URL, to.Scheme+"://"+to.Host)
		require.Equal(t, here+"/callback", to.Query().Get("redirect_uri"))
		require.Equal(t, "S256", to.Query().Get("code_challenge_method"))
		var v visit
		cookie := w.Result().Cookies()[0]
		require.True(t, cookie.Secure && cookie.HttpOnly)
		require.True(t, b.Vault.OpenTicket(forVisits, b.URL, cookie.Value, &v))
		require.Equal(t, kept, v.To)

		callback := "/callback?code=c&state=" + url.QueryEscape(v.State)
		require.Equal(t, http.StatusBadRequest, b.send("", http.MethodGet, callback, nil).Code, "another browser")
		same := func(r *http.Request) { r.AddCookie(cookie) }
		w = b.send("", http.MethodGet, "/callback?code=c&state=guessed", nil, same)
		require.Equal(t, http.StatusBadRequest, w.Code)
		w = b.send("", http.MethodGet, callback, nil, same)
		require.Equal(t, http.StatusBadGateway, w.Code, "the code can't be redeemed")
		require.NotContains(t, w.Header().Values("Set-Cookie"), b.cookie+"=")
	}
}

// At the gateway's own sign-in the console registers itself, once for all nodes, and leaves alone what people change.
func TestTheConsoleRegistersItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var own, another relying.Provider
	require.NoError(t, OwnClient(&own, b.Vault, here))
	require.NoError(t, OwnClient(&another, b.Vault, "https://other.example/console"))
	require.NotEqual(t, own.ClientID, another.ClientID)
	require.NotEqual(t, own.Secret, another.Secret)
	b.Issuer.ClientID, b.Issuer.Secret, b.Own = own.ClientID, own.Secret, true
	db := b.Bench.Gateway.Runtime.Store()
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
	require.Equal(t, 1, strings.Count(b.see(ops, "/audit", http.StatusOK), own.ClientID))

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
