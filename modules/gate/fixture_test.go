package gate_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/gate"
	"github.com/hiregate/hiregate/modules/signin"
)

const (
	here  = "https://app.acme.example"
	ada   = "ada@acme.example"
	bob   = "bob@elsewhere.example"
	right = "correct horse"
)

// fixture is an application behind a gate, whose people sign in at the sign-in of a gateway.
type fixture struct {
	*gatewaytest.Fixture
	*gate.Gate
	t      *testing.T
	signIn *signin.Provider
	issuer string
	got    *http.Request // what the application got last; nil: nothing
	// streaming gets a value when the application begins to answer at /stream, which lasts as long as the request.
	streaming chan struct{}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, gatewaytest.New(t))
}

func newFixtureOn(t *testing.T, on *gatewaytest.Fixture) *fixture {
	t.Helper()
	b := &fixture{Fixture: on, t: t, streaming: make(chan struct{}, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.signIn.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	b.issuer = server.URL
	sealing, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	address := func(*http.Request) string { return "192.0.2.1" }
	ring := &signin.Ring{Vault: sealing, Store: b.Runtime.Store, Now: b.Clock.Now, Log: b.Fixture.Log, Every: signin.RotateEvery}
	b.signIn = signin.New(signin.Provider{Gateway: b.Fixture.Gateway, Issuer: server.URL, Title: "Service", Ring: ring,
		Vault: sealing, Failures: password.NewFailures(b.Clock.Now), Log: b.Fixture.Log, Address: address})
	b.Gate = &gate.Gate{Gateway: b.Fixture.Gateway, Vault: sealing, Prefix: "/oauth2", Life: 12 * time.Hour,
		Allow: gate.Allow{Emails: []string{"*@acme.example"}}, Public: gate.Public{"/healthz", "/assets/*"},
		Provider: &oidcclient.Provider{Issuer: server.URL, ClientID: "acme", Secret: "of-acme", Client: server.Client(),
			Now: b.Clock.Now, TellsGroups: true},
		Returns: gate.NewReturns(), Watch: 10 * time.Millisecond, Address: address, Contact: "ops@acme.example",
		Origin: func(r *http.Request) *url.URL { return &url.URL{Scheme: "https", Host: r.Host} },
		Sent:   func(r *http.Request) *url.URL { return r.URL }, Log: b.Fixture.Log}
	hash, err := password.Hash(t.Context(), right)
	require.NoError(t, err)
	at := b.Clock.Now()
	b.Write(t, func(tx *store.Tx) error {
		for id, email := range map[string]string{"user-ada": ada, "user-bob": bob} {
			if err := tx.InsertUser(&identity.User{ID: id, Email: email, EmailVerified: true, Name: "Zoë, " + id,
				Password: hash, CreatedAt: at}); err != nil {
				return err
			}
		}
		if err := tx.InsertClient(&identity.Client{ID: "acme", Name: "Acme", Algorithm: identity.RS256, CreatedAt: at,
			RedirectURIs: []string{here + "/oauth2/callback", "https://other.example/oauth2/callback", auth + "/oauth2/callback"},
			LogoutURIs:   []string{}}); err != nil {
			return err
		}
		return tx.InsertClientSecret("acme", identity.HashSecret("of-acme"), at)
	})
	return b
}

// browser has the cookies of an application and of sign-in, and the hosts that alone get them.
type browser struct {
	b       *fixture
	cookies map[string]string
	hosts   map[string]string
}

func (b *fixture) browser() *browser { return &browser{b, map[string]string{}, map[string]string{}} }

// page makes a request one with which a browser shows a page.
func page(r *http.Request) { r.Header.Set("Sec-Fetch-Mode", "navigate") }

// ask sends a request to the application, or to sign-in.
func (u *browser) ask(method, address string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	u.b.t.Helper()
	r := httptest.NewRequestWithContext(u.b.t.Context(), method, address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range u.cookies {
		if host := u.hosts[name]; host == "" || host == r.Host {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	for _, fn := range change {
		fn(r)
	}
	w := httptest.NewRecorder()
	u.b.got = nil
	if strings.HasPrefix(address, u.b.issuer) {
		u.b.signIn.ServeHTTP(w, r)
	} else {
		u.b.ServeHTTP(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			u.b.got = r
			if r.URL.Path == "/stream" {
				u.b.streaming <- struct{}{}
				<-r.Context().Done()
			}
			_, _ = w.Write([]byte("the application"))
		}))
	}
	for _, c := range w.Result().Cookies() {
		require.Less(u.b.t, len(c.Name)+len(c.Value), 4<<10)
		if c.MaxAge < 0 {
			delete(u.cookies, c.Name)
		} else {
			u.cookies[c.Name], u.hosts[c.Name] = c.Value, r.Host
			if c.Domain != "" {
				require.Equal(u.b.t, []any{string(u.b.Domain), true}, []any{c.Domain, strings.HasPrefix(c.Name, "__Secure-")})
				delete(u.hosts, c.Name)
			}
		}
	}
	return w
}

// open shows a page, and returns where redirects end.
func (u *browser) open(address string) (at string, w *httptest.ResponseRecorder) {
	u.b.t.Helper()
	for range 10 {
		if w = u.ask(http.MethodGet, address, nil, page); w.Header().Get("Location") == "" {
			return address, w
		}
		address = w.Header().Get("Location")
	}
	require.FailNow(u.b.t, "the redirects have no end", address)
	return "", nil
}

var requestField = regexp.MustCompile(`<input type="hidden" name="request" value="([^"]*)">`)

// password fills in the page of sign-in, and returns where redirects end.
func (u *browser) password(shown *httptest.ResponseRecorder, email string) (at string, w *httptest.ResponseRecorder) {
	u.b.t.Helper()
	return u.open(u.submit(shown, email))
}

// submit fills in the page of sign-in, and returns where that leads.
func (u *browser) submit(shown *httptest.ResponseRecorder, email string) string {
	u.b.t.Helper()
	found := requestField.FindStringSubmatch(shown.Body.String())
	require.NotNil(u.b.t, found, "nobody is asked to sign in: %s", shown.Body)
	w := u.ask(http.MethodPost, u.b.issuer+"/oauth/sign-in", url.Values{"email": {email}, "password": {right},
		"request": {html.UnescapeString(found[1])}, "action": {"sign-in"}})
	require.Equal(u.b.t, http.StatusSeeOther, w.Code, w.Body)
	return w.Header().Get("Location")
}

// enter signs somebody in, who ends at an address of the application.
func (u *browser) enter(address, email string) *httptest.ResponseRecorder {
	u.b.t.Helper()
	_, shown := u.open(address)
	at, w := u.password(shown, email)
	require.Equal(u.b.t, address, at)
	return w
}

// in reports whether a script of the application gets an answer.
func (u *browser) in() bool {
	u.b.t.Helper()
	w := u.ask(http.MethodGet, here+"/api", nil)
	if w.Code == http.StatusUnauthorized {
		require.Nil(u.b.t, u.b.got)
		require.True(u.b.t, json.Valid(w.Body.Bytes()))
		return false
	}
	require.Equal(u.b.t, http.StatusOK, w.Code, w.Body)
	return true
}
