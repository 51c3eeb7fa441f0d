package console

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

// staffFixture is a console whose people sign in at the provider of their company. Each sign-in there is one of ops, in a
// session of its own.
type staffFixture struct {
	*fixture
	signer jose.Signer
	nonce  string // of the sign-in that is exchanged next
	sid    string // of its session
	ends   string // its end_session_endpoint; empty: it has none
}

func newStaffFixture(t *testing.T) *staffFixture {
	t.Helper()
	b := &staffFixture{fixture: newFixture(t)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	b.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(t, err)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var content any
		switch r.URL.Path {
		case "/keys":
			content = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256", Use: "sig"}}}
		case "/token":
			content = map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": b.sign(map[string]any{
				"nonce": b.nonce, "sid": b.sid, "email": ops, "email_verified": true})}
		default:
			content = map[string]any{"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize",
				"token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/keys", "end_session_endpoint": b.ends,
				"id_token_signing_alg_values_supported": []string{"ES256"}}
		}
		if err := json.NewEncoder(w).Encode(content); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	b.Issuer.Issuer, b.Issuer.Client = server.URL, server.Client()
	return b
}

// sign makes a token of the provider for the console, about sub-of-ops.
func (b *staffFixture) sign(more map[string]any) string {
	claims := map[string]any{"iss": b.Issuer.Issuer, "aud": b.Issuer.ClientID, "sub": "sub-of-ops",
		"iat": b.Clock.Now().Unix(), "exp": b.Clock.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	raw, err := json.Marshal(claims)
	require.NoError(b.t, err)
	signed, err := b.signer.Sign(raw)
	require.NoError(b.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(b.t, err)
	return token
}

// browser is somebody's, with its cookies.
type browser map[string]string

func (u browser) ask(b *fixture, method, path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	w := b.send("", method, path, form, func(r *http.Request) {
		for name, value := range u {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	})
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(u, c.Name)
		} else {
			u[c.Name] = c.Value
		}
	}
	return w
}

// signIn signs in at the provider, in a session of it, and returns what the provider was asked.
func (b *staffFixture) signIn(u browser, sid string) url.Values {
	b.t.Helper()
	w := u.ask(b.fixture, http.MethodGet, "/sign-in", nil)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(b.t, err)
	b.nonce, b.sid = to.Query().Get("nonce"), sid
	w = u.ask(b.fixture, http.MethodGet, "/callback?code=c&state="+to.Query().Get("state"), nil)
	require.Equal(b.t, "/console/", w.Header().Get("Location"), w.Body)
	require.True(b.t, b.in(u))
	return to.Query()
}

func (b *staffFixture) in(u browser) bool {
	b.t.Helper()
	return u.ask(b.fixture, http.MethodGet, "/tenants", nil).Code == http.StatusOK
}

// A provider that ends somebody's session ends theirs at the console, with a token that is good once.
func TestBackChannelLogout(t *testing.T) {
	t.Parallel()
	b := newStaffFixture(t)
	desk, phone := browser{}, browser{}
	b.signIn(desk, "desk")
	b.signIn(phone, "phone")
	logout := func(jti string, more map[string]any) map[string]any {
		all := map[string]any{"jti": jti,
			"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
		maps.Copy(all, more)
		return all
	}
	send := func(token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://gate.example/backchannel-logout",
			strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Result().Cookies())
		return w.Code
	}
	for name, token := range map[string]string{
		"none": "", "an ID token": b.sign(map[string]any{"nonce": "n", "sid": "desk"}),
		"another issuer": b.sign(logout("1", map[string]any{"iss": "https://other.example"})),
		"another client": b.sign(logout("2", map[string]any{"aud": "other"})),
		"with a nonce":   b.sign(logout("3", map[string]any{"nonce": "n"})),
	} {
		require.Equal(t, http.StatusBadRequest, send(token), name)
	}
	require.True(t, b.in(desk))
	token := b.sign(logout("4", map[string]any{"sid": "desk"}))
	require.Equal(t, http.StatusOK, send(token))
	require.False(t, b.in(desk))
	require.True(t, b.in(phone), "it is another session")
	b.signIn(desk, "desk")
	require.Equal(t, http.StatusBadRequest, send(token), "it was used before")
	require.True(t, b.in(desk))
	require.Equal(t, http.StatusOK, send(b.sign(logout("5", nil))), "all of a person")
	require.False(t, b.in(desk) || b.in(phone))
}

// Whoever signs out is led to where they sign out at their provider, which asks them the next time.
func TestSigningOutAtTheProvider(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"https://login.example/end?realm=staff", ""} {
		b := newStaffFixture(t)
		b.ends = ends
		u := browser{}
		require.Empty(t, b.signIn(u, "s").Get("prompt"))
		w := u.ask(b.fixture, http.MethodPost, "/sign-out", nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.False(t, b.in(u))
		if ends == "" {
			require.Empty(t, w.Header().Get("Refresh"))
			require.Contains(t, w.Body.String(), "You may still be signed in at your provider.")
		} else {
			address, ok := strings.CutPrefix(w.Header().Get("Refresh"), "0; url=")
			require.True(t, ok)
			to, err := url.Parse(address)
			require.NoError(t, err)
			require.Equal(t, "login.example/end", to.Host+to.Path)
			require.Equal(t, []string{"staff", "console"}, []string{to.Query().Get("realm"), to.Query().Get("client_id")})
			require.NotEmpty(t, to.Query().Get("id_token_hint"))
			require.Contains(t, w.Body.String(), "Sign out at your provider")
		}
		require.Equal(t, "login", b.signIn(u, "s").Get("prompt"))
		require.Empty(t, b.signIn(u, "s").Get("prompt"), "it asks once")
	}
}

// Nobody changes their own account, by which they would let themselves in again.
func TestNobodyChangesTheirOwnAccount(t *testing.T) {
	t.Parallel()
	own := newOwnFixture(t)
	own.user("ada")
	s := own.surfer()
	s.signIn(ops)
	staff := newStaffFixture(t)
	staff.user("olga")
	staff.user("ada")
	staff.Write(t, func(tx *store.Tx) error {
		return tx.InsertUpstreamAccount(staff.Issuer.Issuer, "sub-of-ops", "olga", staff.Clock.Now())
	})
	u := browser{}
	staff.signIn(u, "s")
	for name, at := range map[string]struct {
		b   *fixture
		ask func(method, path string, form url.Values) *httptest.ResponseRecorder
	}{
		"our own sign-in": {own.fixture, func(method, path string, form url.Values) *httptest.ResponseRecorder {
			return s.ask(method, here+path, form)
		}},
		"another provider": {staff.fixture, func(method, path string, form url.Values) *httptest.ResponseRecorder {
			return u.ask(staff.fixture, method, path, form)
		}},
	} {
		before := at.b.stored("olga")
		form := url.Values{"email": {"olga@other.example"}, "verified": {"yes"}}
		for _, action := range []string{"", "/reset", "/enable", "/totp", "/end-totp", "/disable", "/unlink", "/end-sessions"} {
			w := at.ask(http.MethodPost, "/people/olga"+action, form)
			require.Equal(t, http.StatusForbidden, w.Code, "%s %s", name, action)
			require.Contains(t, w.Body.String(), "This is your own account.")
		}
		require.Equal(t, before, at.b.stored("olga"), name)
		page := at.ask(http.MethodGet, "/people/olga", nil).Body.String()
		require.Contains(t, page, "This is your own account.")
		require.NotContains(t, page, `action="/console/people/`)
		require.NotContains(t, at.ask(http.MethodGet, "/people/ada", nil).Body.String(), "This is your own account.")
		require.Equal(t, http.StatusSeeOther, at.ask(http.MethodPost, "/people/ada/disable", url.Values{}).Code, name)
	}
}

// Whoever changes their mind at the provider, or is turned away there, gets a page from which they can sign in again.
func TestSigningInIsCancelled(t *testing.T) {
	t.Parallel()
	b := newStaffFixture(t)
	for code, want := range map[string]int{"access_denied": http.StatusForbidden, "server_error": http.StatusBadGateway} {
		u := browser{}
		to, err := url.Parse(u.ask(b.fixture, http.MethodGet, "/sign-in", nil).Header().Get("Location"))
		require.NoError(t, err)
		w := u.ask(b.fixture, http.MethodGet, "/callback?error="+code+"&state="+to.Query().Get("state"), nil)
		require.Equal(t, want, w.Code, code)
		require.Equal(t, want == http.StatusForbidden, strings.Contains(w.Body.String(), "Sign in again"), code)
		require.False(t, b.in(u))
	}
}
