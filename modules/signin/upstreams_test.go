package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

// companies is a provider where people of two companies sign in, each at their own.
type companies struct {
	*fixture
	acme, globex *teller
}

func newCompanies(t *testing.T) *companies {
	t.Helper()
	c := &companies{acme: newTeller(t), globex: newTeller(t)}
	c.fixture = c.acme.fixture
	of := func(id string, at *teller, domains ...string) *signin.Upstream {
		u := at.Provider.Upstreams[0]
		u.Name, u.ID, u.Domains, u.Now = id+" staff", id, domains, c.Now
		return u
	}
	c.Provider.Upstreams = []*signin.Upstream{of("acme", c.acme, "acme.example"), of("globex", c.globex, "globex.example", "example.com")}
	c.renew()
	return c
}

// renew has changed settings in force, as a reload does.
func (c *companies) renew() { c.Provider = signin.New(*c.Provider) }

// choose enters an address on the first page.
func (c *companies) choose(u *browser, email string) *httptest.ResponseRecorder {
	c.t.Helper()
	page := u.authorize(base())
	requirePage(c.t, page, http.StatusOK, `id="email"`)
	for _, never := range []string{`id="password"`, "acme", "globex"} {
		require.NotContains(c.t, page.Body.String(), never, "strangers learn who our clients are")
	}
	return u.submit(page, `id="email"`, url.Values{"email": {email}, "action": {"sign-in"}})
}

// leave goes on to the company's provider, and returns what it is sent.
func (c *companies) leave(u *browser, page *httptest.ResponseRecorder, to *teller) url.Values {
	c.t.Helper()
	requirePage(c.t, page, http.StatusOK, `value="another"`)
	w := u.submit(page, `value="another"`, url.Values{"action": {"sign-in"}})
	require.Equal(c.t, http.StatusSeeOther, w.Code, "%s", w.Body)
	at, err := url.Parse(w.Header().Get("Location"))
	require.NoError(c.t, err)
	require.Equal(c.t, to.server.URL+"/authorize", at.Scheme+"://"+at.Host+at.Path)
	return at.Query()
}

// come has an account of a company's provider sign in: whoever typed whichever address there.
func (c *companies) come(id string, at *teller, typed string, told map[string]any) *httptest.ResponseRecorder {
	c.t.Helper()
	u := c.browser()
	sent := c.leave(u, c.choose(u, typed), at)
	require.Equal(c.t, issuer+"/oauth/upstream/"+id+"/callback", sent.Get("redirect_uri"))
	require.Equal(c.t, typed, sent.Get("login_hint"))
	at.told, at.nonce = told, sent.Get("nonce")
	return u.ask(http.MethodGet, "/oauth/upstream/"+id+"/callback?"+url.Values{"state": {sent.Get("state")}, "code": {"c"}}.Encode(), nil)
}

func account(sub, email string) map[string]any {
	return map[string]any{"sub": sub, "email": email, "email_verified": true}
}

// The provider of one company signs in nobody of another, whatever it says of them.
func TestNoCompanySignsInAnothersPeople(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	subject := func(w *httptest.ResponseRecorder) string {
		t.Helper()
		sub, _ := c.claims(requireTokens(t, c.exchange("app", back(t, w, callback).Get("code"))).IDToken)["sub"].(string)
		return sub
	}
	unknown := func(w *httptest.ResponseRecorder) {
		t.Helper()
		requirePage(t, w, http.StatusForbidden, "We don’t know your account yet")
	}
	ann := subject(c.come("acme", c.acme, "ann@acme.example", account("1", "ann@acme.example")))
	require.Equal(t, "user-ada", subject(c.come("globex", c.globex, "ada@example.com", account("1", "ada@example.com"))),
		"a subject is another person at another provider")

	unknown(c.come("acme", c.acme, "eve@acme.example", account("2", "ada@example.com")))
	unknown(c.come("acme", c.acme, "eve@acme.example", account("2", "new@globex.example")))
	unknown(c.come("acme", c.acme, "eve@acme.example", account("2", "eve@elsewhere.example")))
	for _, email := range []string{"new@globex.example", "eve@elsewhere.example"} {
		_, err := c.Runtime.Store().UserByEmail(t.Context(), email)
		require.ErrorIs(t, err, store.ErrNotFound)
	}

	// Ann goes to Globex. Her account at Acme ends with the address, and only an administrator lets her in at Globex.
	moved, err := c.Runtime.Store().User(t.Context(), ann)
	require.NoError(t, err)
	moved.Email = "ann@globex.example"
	c.Write(t, func(tx *store.Tx) error { return tx.UpdateUser(moved) })
	unknown(c.come("acme", c.acme, "ann@acme.example", account("1", "ann@acme.example")))
	unknown(c.come("globex", c.globex, "ann@globex.example", account("3", "ann@globex.example")))
	c.Write(t, func(tx *store.Tx) error { _, err := tx.DeleteUpstreamAccounts(ann, c.Now()); return err })
	require.Equal(t, ann, subject(c.come("globex", c.globex, "ann@globex.example", account("3", "ann@globex.example"))))

	// What was begun at one is not finished at another.
	u := c.browser()
	sent := c.leave(u, c.choose(u, "ann@globex.example"), c.globex)
	requirePage(t, u.ask(http.MethodGet, "/oauth/upstream/acme/callback?code=c&state="+sent.Get("state"), nil), http.StatusBadRequest,
		"This sign-in is over")
}

// The first page asks for the address; that decides, and whose it is not known gets the field for a password.
func TestAnAddressDecidesWhereToSignIn(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	c.Provider.Upstreams[1].Emergency = []string{"bob@example.com"}
	c.renew()
	u := c.browser()
	for _, email := range []string{"nobody@elsewhere.example", "bob@example.com", "not an address"} {
		requirePage(t, c.choose(u, email), http.StatusOK, `id="password"`, `value="`+email+`"`)
	}
	requirePage(t, c.choose(u, ""), http.StatusUnprocessableEntity, "Enter your e-mail address", "Your address decides")
	code := back(t, u.signIn(c.choose(u, "bob@example.com"), "bob@example.com", right), callback).Get("code")
	require.NotEmpty(t, code)
	u = c.browser()
	requirePage(t, u.signIn(c.choose(u, "bob@example.com"), "ada@example.com", right), http.StatusOK, "Sign in at globex staff")

	hinted := u.authorize(base().with(params{"login_hint": "ada@example.com"}))
	requirePage(t, hinted, http.StatusOK, "Sign in at globex staff", "ada@example.com", c.globex.server.Listener.Addr().String())
	again := u.submit(hinted, `value="another"`, url.Values{"action": {"another"}})
	requirePage(t, again, http.StatusOK, `id="email"`, "Your address decides")
	requirePage(t, u.authorize(base().with(params{"login_hint": "kim@elsewhere.example"})), http.StatusOK, `id="password"`)
	requireError(t, u.submit(hinted, `value="another"`, url.Values{"action": {"cancel"}}), base(), "access_denied")
}

// Nobody signs in at a provider that is disabled, nor with a password in its place.
func TestADisabledProvider(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	u := c.browser()
	sent := c.leave(u, c.choose(u, "ann@acme.example"), c.acme)
	c.Provider.Upstreams[0].Disabled = true
	c.renew()
	off := func(w *httptest.ResponseRecorder) {
		t.Helper()
		requirePage(t, w, http.StatusForbidden, "Signing in at acme staff is switched off")
	}
	c.acme.told, c.acme.nonce = account("1", "ann@acme.example"), sent.Get("nonce")
	off(u.ask(http.MethodGet, "/oauth/upstream/acme/callback?code=c&state="+sent.Get("state"), nil))
	hash, err := hashed()
	require.NoError(t, err)
	c.Write(t, func(tx *store.Tx) error {
		return tx.InsertUser(&identity.User{ID: "user-ann", Email: "ann@acme.example", Password: hash, CreatedAt: c.Now()})
	})
	off(c.choose(u, "ann@acme.example"))
	off(u.signIn(c.choose(u, "nobody@elsewhere.example"), "ann@acme.example", right))
	require.NotEmpty(t, back(t, c.come("globex", c.globex, "ada@example.com", account("1", "ada@example.com")), callback).Get("code"))
}
