package signin_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

// come has an account of the upstream sign in, in a browser of its own.
func (j *teller) come(told map[string]any) *httptest.ResponseRecorder {
	j.told = told
	u := j.browser()
	return j.back(u, j.leave(u, base()), params{"code": "c"})
}

// Some providers never send email_verified. Only domains that are trusted do without, and false stays false.
func TestTrustEmailUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	eve := func(sub, email string, verified any) map[string]any {
		return map[string]any{"sub": sub, "email": email, "email_verified": verified}
	}
	requirePage(t, j.come(eve("up-eve", "eve@example.com", nil)), http.StatusForbidden, "We don’t know your account yet")
	j.Provider.Upstreams[0].TrustEmail = []string{"example.com", "münchen.example"}
	for sub, told := range map[string]map[string]any{
		"false":         eve("up-false", "eve@example.com", false),
		"false as text": eve("up-text", "eve@example.com", "false"),
		"null":          eve("up-other", "eve@other.example", nil),
		"a subdomain":   eve("up-sub", "eve@mail.example.com", nil),
		"two domains":   eve("up-two", "eve@example.com@other.example", nil),
		"no address":    eve("up-none", "example.com", nil),
	} {
		requirePage(t, j.come(told), http.StatusForbidden, "We don’t know your account yet")
		_, err := j.Runtime.Store().UserByUpstreamAccount(t.Context(), j.server.URL, told["sub"].(string))
		require.Error(t, err, sub)
	}
	for _, told := range []map[string]any{eve("up-eve", "eve@Example.com", nil), eve("up-zoe", "zoe@xn--mnchen-3ya.example", nil)} {
		require.NotEmpty(t, back(t, j.come(told), callback).Get("code"))
	}
	require.NotEmpty(t, back(t, j.come(eve("up-kim", "kim@other.example", true)), callback).Get("code"))
}

// Joins limits which accounts get in for the first time. Who is joined already stays.
func TestJoinsUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	account := func(name, domain string) map[string]any {
		return map[string]any{"sub": "up-" + name, "email": name + "@" + domain, "email_verified": true}
	}
	limit := func(joins signin.Joins) {
		j.Provider.Upstreams[0].Joins = joins
		j.Provider = signin.New(*j.Provider)
	}
	require.NotEmpty(t, back(t, j.come(account("kim", "other.example")), callback).Get("code"))
	limit(signin.Joins{Domains: []string{"example.com"}})
	requirePage(t, j.come(account("eve", "other.example")), http.StatusForbidden, "We don’t know your account yet")
	require.NotEmpty(t, back(t, j.come(account("kim", "other.example")), callback).Get("code"))
	require.NotEmpty(t, back(t, j.come(account("eve", "example.com")), callback).Get("code"))
	limit(signin.Joins{KnownOnly: true})
	requirePage(t, j.come(account("mia", "example.com")), http.StatusForbidden, "We don’t know your account yet")
	_, err := j.Runtime.Store().UserByEmail(t.Context(), "mia@example.com")
	require.Error(t, err)
	require.NotEmpty(t, back(t, j.come(account("ada", "example.com")), callback).Get("code"), "ada is a user already")
}

// Names follow the upstream; the address does not, since roles rest on it.
func TestRenamedUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	named := func(email, name, family string) map[string]any {
		return map[string]any{"sub": "up-eve", "email": email, "name": name, "given_name": "Eve", "family_name": family}
	}
	j.come(named("eve@example.com", "Eve Smith", "Smith"))
	j.come(named("evening@example.com", "Eve Jones\n", "Jones"))
	eve, err := j.Runtime.Store().UserByEmail(t.Context(), "eve@example.com")
	require.NoError(t, err)
	require.Equal(t, []string{"Eve Jones", "Eve", "Jones"}, []string{eve.Name, eve.GivenName, eve.FamilyName})
	j.come(map[string]any{"sub": "up-eve", "email": "eve@example.com"})
	eve, err = j.Runtime.Store().User(t.Context(), eve.ID)
	require.NoError(t, err)
	require.Equal(t, "Eve Jones", eve.Name, "a name that the provider does not send is kept")
}

// Whoever has an address in the upstream's domains signs in there alone: entering it leads there, whatever stands in the
// form for a password. An emergency account has its password.
func TestPasswordsEndInDomains(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	hash, err := hashed()
	require.NoError(t, err)
	j.Write(t, func(tx *store.Tx) error {
		return errors.Join(
			tx.InsertUser(&identity.User{ID: "user-kim", Email: "kim@other.example", Password: hash, CreatedAt: j.Now()}),
			tx.InsertUser(&identity.User{ID: "user-zoe", Email: "zoe@strasse.example", Password: hash, CreatedAt: j.Now()}))
	})
	j.Provider.Upstreams[0].Joins = signin.Joins{Domains: []string{"example.com", "strasse.example"}, Emergency: []string{"bob@example.com"}}
	j.Provider = signin.New(*j.Provider)
	typed := func(email, plain string) *httptest.ResponseRecorder {
		u := j.browser()
		return u.signIn(u.authorize(base()), email, plain)
	}
	for _, email := range []string{"ada@example.com", " Ada@EXAMPLE.com ", "nobody@example.com", "zoe@straße.example"} {
		for _, plain := range []string{right, ""} {
			w := typed(email, plain)
			if plain == "" && email == "zoe@straße.example" { // another domain, until the password shows who it is
				requirePage(t, w, http.StatusUnprocessableEntity, `id="password"`)
				continue
			}
			require.Equal(t, http.StatusSeeOther, w.Code, "%s", w.Body)
			to, err := url.Parse(w.Header().Get("Location"))
			require.NoError(t, err)
			require.Equal(t, j.server.URL+"/authorize", to.Scheme+"://"+to.Host+to.Path)
			require.NotEmpty(t, to.Query().Get("login_hint"))
		}
	}
	require.NotEmpty(t, back(t, typed("Bob@example.com", right), callback).Get("code"))
	require.NotEmpty(t, back(t, typed("kim@other.example", right), callback).Get("code"))
	requirePage(t, typed("bob@example.com", "a guess"), http.StatusForbidden, `id="password"`)
}
