package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

// joint is a provider, and another one of ours in the place of people's company's, where they may sign in instead.
type joint struct {
	*fixture
	up      *fixture
	company *httptest.Server
}

// upstreamForm is what the form has that sends people there.
const upstreamForm = `<button class="quiet">`

func newJoint(t *testing.T) *joint {
	t.Helper()
	j := &joint{fixture: newFixture(t), up: newFixture(t)}
	j.company = httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { j.up.Provider.ServeHTTP(w, r) }))
	t.Cleanup(j.company.Close)
	j.up.Provider = j.up.provider(j.company.URL)
	hash, err := hashed()
	require.NoError(t, err)
	j.up.Write(t, func(tx *store.Tx) error {
		for _, u := range []*identity.User{
			{ID: "up-carol", Email: "carol@example.com", EmailVerified: true, Name: "Carol Shaw", GivenName: "Carol",
				FamilyName: "Shaw"},
			{ID: "up-dan", Email: "dan@example.com"},
		} {
			u.Password, u.CreatedAt = hash, j.up.Now()
			if err := tx.InsertUser(u); err != nil {
				return err
			}
		}
		c := &identity.Client{ID: "hiregate", Name: "Initech Recruiting",
			RedirectURIs: []string{issuer + "/oauth/upstream/callback"}, Algorithm: identity.RS256, RequirePKCE: true,
			CreatedAt: j.up.Now()}
		if err := tx.InsertClient(c); err != nil {
			return err
		}
		return tx.InsertClientSecret(c.ID, identity.HashSecret(secretOf(c.ID)), j.up.Now())
	})
	j.Provider.Upstreams = []*signin.Upstream{{Provider: &oidcclient.Provider{Name: "Initech Staff", Issuer: j.company.URL, ClientID: "hiregate",
		Secret: secretOf("hiregate"), Client: j.company.Client(), Now: j.Now}}}
	j.Provider = signin.New(*j.Provider)
	return j
}

// leave asks for a code and chooses to sign in at the company. It gives the address where the browser is sent.
func (j *joint) leave(u *browser, p params) *url.URL {
	j.t.Helper()
	page := u.authorize(p)
	requirePage(j.t, page, http.StatusOK, upstreamForm, `id="password"`)
	w := u.submit(page, upstreamForm, url.Values{})
	require.Equal(j.t, http.StatusSeeOther, w.Code, "%s", w.Body)
	require.Equal(j.t, "no-store", w.Header().Get("Cache-Control"))
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(j.t, err)
	require.Equal(j.t, j.company.URL+"/oauth/authorize", to.Scheme+"://"+to.Host+to.Path)
	return to
}

// there signs in at the company, and gives the path and query of where the browser is sent back to.
func (j *joint) there(to *url.URL, email string) string {
	j.t.Helper()
	u := j.up.browser()
	page := u.ask(http.MethodGet, to.RequestURI(), nil)
	w := u.signIn(page, email, right)
	back, ok := strings.CutPrefix(w.Header().Get("Location"), issuer)
	require.True(j.t, ok, "%d %s", w.Code, w.Body)
	return back
}

// enter does both.
func (j *joint) enter(email string) (code string) {
	j.t.Helper()
	u := j.browser()
	w := u.ask(http.MethodGet, j.there(j.leave(u, base()), email), nil)
	return back(j.t, w, callback).Get("code")
}

func (j *joint) subject(code string) any {
	j.t.Helper()
	return j.claims(requireTokens(j.t, j.exchange("app", code)).IDToken)["sub"]
}
