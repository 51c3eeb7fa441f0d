package signin_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/signin"
)

const (
	issuer   = "https://gate.example.com/signin"
	callback = "https://app.example.com/callback"
	right    = "correct horse"
	seal     = "a text of more than thirty-two characters"
	address  = "192.0.2.1"
)

// fixture is a provider of its own, with the users ada and bob, and some clients.
type fixture struct {
	*gatewaytest.Fixture
	*signin.Provider
	t testing.TB
}

var (
	keys = sync.OnceValues(func() (all []*identity.Key, err error) {
		sealer, err := vault.New(seal)
		if err != nil {
			return nil, err
		}
		r := &signin.Ring{Vault: sealer}
		for _, a := range identity.Algorithms {
			k, err := r.Generate(a, gatewaytest.Noon)
			if err != nil {
				return nil, err
			}
			all = append(all, k)
		}
		return all, nil
	})
	hashed = sync.OnceValues(func() (string, error) { return password.Hash(context.Background(), right) })
)

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return fixtureOf(t, gatewaytest.New(t))
}

func fixtureOf(t testing.TB, g *gatewaytest.Fixture) *fixture {
	t.Helper()
	b := &fixture{Fixture: g, t: t}
	b.Provider = b.provider(issuer)
	all, err := keys()
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error {
		for _, k := range all {
			if _, err := tx.InsertKey(k); err != nil {
				return err
			}
		}
		return nil
	})
	b.populate()
	return b
}

// provider is a further one of the same gateway. It seals with other texts where some are given.
func (b *fixture) provider(issuer string, texts ...string) *signin.Provider {
	if len(texts) == 0 {
		texts = []string{seal}
	}
	sealer, err := vault.New(texts...)
	require.NoError(b.t, err)
	ring := &signin.Ring{Vault: sealer, Store: b.Runtime.Store, Now: b.Now, Log: b.Fixture.Log, Every: signin.RotateEvery}
	return signin.New(signin.Provider{Gateway: b.Fixture.Gateway, Issuer: issuer, Title: "Initech Recruiting", Ring: ring,
		Vault: sealer, Failures: password.NewFailures(b.Now),
		Address: func(r *http.Request) string { return cmp.Or(r.Header.Get("X-Test-Address"), address) }, Log: b.Fixture.Log})
}

func (b *fixture) Now() time.Time { return b.Clock.Now() }

func (b *fixture) populate() {
	hash, err := hashed()
	require.NoError(b.t, err)
	at := b.Now()
	b.Write(b.t, func(tx *store.Tx) error {
		for _, u := range []*identity.User{
			{ID: "user-ada", Email: "ada@example.com", EmailVerified: true, Name: "Ada Lovelace", GivenName: "Ada",
				FamilyName: "Lovelace", Password: hash, CreatedAt: at},
			{ID: "user-bob", Email: "bob@example.com", Name: "Bob", Password: hash, CreatedAt: at},
		} {
			if err := tx.InsertUser(u); err != nil {
				return err
			}
		}
		for _, c := range []*identity.Client{
			{ID: "app"}, {ID: "other"}, {ID: "posting", SecretPost: true}, {ID: "proving", RequirePKCE: true},
			{ID: "asking", Consent: true}, {ID: "curved", Algorithm: identity.ES256},
		} {
			c.Name, c.CreatedAt, c.RedirectURIs, c.LogoutURIs = "Payroll <"+c.ID+">", at,
				[]string{callback, callback + "?keep=%20this&x", "http://localhost:8090/callback"},
				[]string{"https://app.example.com/bye"}
			if c.Algorithm == "" {
				c.Algorithm = identity.RS256
			}
			if err := tx.InsertClient(c); err != nil {
				return err
			}
			if err := tx.InsertClientSecret(c.ID, identity.HashSecret(secretOf(c.ID)), at); err != nil {
				return err
			}
		}
		return nil
	})
}

func secretOf(client string) string { return client + "-secret%+" }

// params are those of an authorization request; with adds to them, or takes away where the value is empty.
type params map[string]string

func base() params {
	return params{"response_type": "code", "scope": "openid", "client_id": "app", "redirect_uri": callback,
		"state": "st~ate/+ &=ö", "nonce": "n-1"}
}

func (p params) with(more params) params {
	all := maps.Clone(p)
	maps.Copy(all, more)
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

func (p params) values() url.Values {
	v := url.Values{}
	for name, value := range p {
		v.Set(name, value)
	}
	return v
}

// browser is somebody's, with its cookies.
type browser struct {
	b       *fixture
	p       http.Handler
	cookies map[string]string
	headers http.Header
}

func (b *fixture) browser() *browser {
	return &browser{b: b, p: b.Provider, cookies: map[string]string{}, headers: http.Header{}}
}

func (u *browser) ask(method, path string, form url.Values) *httptest.ResponseRecorder {
	u.b.t.Helper()
	return u.askWithin(context.Background(), method, path, form)
}

// askWithin is ask, for as long as ctx lasts.
func (u *browser) askWithin(ctx context.Context, method, path string, form url.Values) *httptest.ResponseRecorder {
	u.b.t.Helper()
	var r *http.Request
	if form != nil {
		r = httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	} else {
		r = httptest.NewRequestWithContext(ctx, method, path, nil)
	}
	for name, values := range u.headers {
		r.Header[name] = values
	}
	for name, value := range u.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	u.p.ServeHTTP(w, r)
	w.Result().Request = r
	for _, c := range w.Result().Cookies() {
		require.True(u.b.t, strings.HasPrefix(c.Name, "__Host-") && c.Secure && c.HttpOnly && c.Path == "/" &&
			c.Domain == "" && c.SameSite == http.SameSiteLaxMode, "%+v", c)
		require.LessOrEqual(u.b.t, len(c.String()), 4096, "browsers drop it")
		if c.MaxAge < 0 {
			delete(u.cookies, c.Name)
		} else {
			u.cookies[c.Name] = c.Value
		}
	}
	return w
}

func (u *browser) authorize(p params) *httptest.ResponseRecorder {
	return u.ask(http.MethodGet, "/oauth/authorize?"+p.values().Encode(), nil)
}

var (
	formAction  = regexp.MustCompile(`^ method="post" action="([^"]+)"`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
)

// submit sends the form of a page that has something in it, to where its action leads from the page's own address.
func (u *browser) submit(page *httptest.ResponseRecorder, has string, filled url.Values) *httptest.ResponseRecorder {
	u.b.t.Helper()
	for _, form := range strings.Split(page.Body.String(), "<form")[1:] {
		if form, _, _ = strings.Cut(form, "</form>"); !strings.Contains(form, has) {
			continue
		}
		for _, field := range hiddenField.FindAllStringSubmatch(form, -1) {
			filled.Set(field[1], html.UnescapeString(field[2]))
		}
		at, err := url.Parse(u.b.Provider.Issuer + page.Result().Request.URL.RequestURI())
		require.NoError(u.b.t, err)
		to, err := at.Parse(html.UnescapeString(formAction.FindStringSubmatch(form)[1]))
		require.NoError(u.b.t, err)
		path, ok := strings.CutPrefix(to.String(), u.b.Provider.Issuer)
		require.True(u.b.t, ok, "the form leads to %s", to)
		return u.ask(http.MethodPost, path, filled)
	}
	require.FailNow(u.b.t, "no such form", "%s: %d %s", has, page.Code, page.Body)
	return nil
}

// signIn fills in the form of a page.
func (u *browser) signIn(page *httptest.ResponseRecorder, email, plain string) *httptest.ResponseRecorder {
	u.b.t.Helper()
	return u.submit(page, `id="password"`, url.Values{"email": {email}, "password": {plain}, "action": {"sign-in"}})
}

// enter asks for a code and signs in as ada.
func (u *browser) enter(p params) url.Values {
	u.b.t.Helper()
	page := u.authorize(p)
	requirePage(u.b.t, page, http.StatusOK, `id="password"`)
	return back(u.b.t, u.signIn(page, "ada@example.com", right), p["redirect_uri"])
}

// back reads what an application is sent at its redirect URI.
func back(t testing.TB, w *httptest.ResponseRecorder, to string) url.Values {
	t.Helper()
	require.Contains(t, []int{http.StatusFound, http.StatusSeeOther}, w.Code, "%s", w.Body)
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	rest, ok := strings.CutPrefix(w.Header().Get("Location"), to+separator)
	require.True(t, ok, "%s is not %s", w.Header().Get("Location"), to)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	got, err := url.ParseQuery(rest)
	require.NoError(t, err)
	require.Equal(t, []string{issuer}, got["iss"])
	for name, values := range got {
		require.Len(t, values, 1, name)
	}
	return got
}

// requireError is for a request that is refused at the redirect URI.
func requireError(t testing.TB, w *httptest.ResponseRecorder, p params, code string) {
	t.Helper()
	got := back(t, w, p["redirect_uri"])
	require.Equal(t, code, got.Get("error"))
	require.NotEmpty(t, got.Get("error_description"))
	require.Equal(t, p["state"], got.Get("state"))
	require.Equal(t, p["state"] != "", got.Has("state"))
	got.Del("state")
	require.Len(t, got, 3)
}

func requirePage(t testing.TB, w *httptest.ResponseRecorder, status int, has ...string) {
	t.Helper()
	require.Equal(t, status, w.Code, "%s%s", w.Header().Get("Location"), w.Body)
	require.Empty(t, w.Header().Get("Location"))
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	for _, one := range has {
		require.Contains(t, w.Body.String(), one)
	}
}

// tokens is the token response.
type tokens struct {
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	IDToken      string `json:"id_token"`
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// post sends a form to an address that applications ask, as a client with HTTP Basic; as nobody when that is empty.
func (b *fixture) post(path, client string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client != "" {
		r.SetBasicAuth(url.QueryEscape(client), url.QueryEscape(secretOf(client)))
	}
	for _, fn := range change {
		fn(r)
	}
	w := httptest.NewRecorder()
	b.Provider.ServeHTTP(w, r)
	return w
}

const tokenPath = "/openId/accessToken"

func exchanging(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}}
}

func (b *fixture) exchange(client, code string) *httptest.ResponseRecorder {
	return b.post(tokenPath, client, exchanging(code))
}

// requireFault is for an error answer to an application.
func requireFault(t testing.TB, w *httptest.ResponseRecorder, status int, code string) string {
	t.Helper()
	require.Equal(t, status, w.Code, "%s", w.Body)
	requireJSON(t, w)
	var body map[string]string
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, code, body["error"])
	require.Len(t, body, 2)
	return body["error_description"]
}

func requireJSON(t testing.TB, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
}

func requireTokens(t testing.TB, w *httptest.ResponseRecorder) tokens {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
	requireJSON(t, w)
	var got tokens
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "Bearer", got.TokenType)
	require.Equal(t, 3600, got.ExpiresIn)
	require.NotEmpty(t, got.AccessToken)
	require.NotEmpty(t, got.RefreshToken)
	return got
}

// flow does the whole of it for a client: ada signs in, and the code is exchanged.
func (b *fixture) flow(p params) tokens {
	b.t.Helper()
	return requireTokens(b.t, b.exchange(p["client_id"], b.browser().enter(p).Get("code")))
}

// claims verifies an ID token with the published key that it names, and gives its claims.
func (b *fixture) claims(token string) map[string]any {
	b.t.Helper()
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	require.NoError(b.t, err)
	var set jose.JSONWebKeySet
	require.NoError(b.t, json.Unmarshal(b.get("/oauth/jwks").Body.Bytes(), &set))
	found := set.Key(signed.Signatures[0].Header.KeyID)
	require.Len(b.t, found, 1)
	require.Equal(b.t, signed.Signatures[0].Header.Algorithm, found[0].Algorithm)
	require.True(b.t, found[0].IsPublic())
	raw, err := signed.Verify(found[0])
	require.NoError(b.t, err)
	var claims map[string]any
	require.NoError(b.t, json.Unmarshal(raw, &claims))
	return claims
}

func (b *fixture) get(path string, authorization ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header["Authorization"] = authorization
	w := httptest.NewRecorder()
	b.Provider.ServeHTTP(w, r)
	return w
}

// userinfo asks what an access token tells.
func (b *fixture) userinfo(access string) *httptest.ResponseRecorder {
	return b.get("/oauth/userinfo", "Bearer "+access)
}

func (b *fixture) requireGood(access string) {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, b.userinfo(access).Code)
}

func (b *fixture) requireRevoked(access string) {
	b.t.Helper()
	require.Equal(b.t, http.StatusUnauthorized, b.userinfo(access).Code)
}

func s256(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
