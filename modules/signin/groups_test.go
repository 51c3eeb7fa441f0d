package signin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// put puts a user into groups, as an administrator does.
func (b *fixture) put(user string, groups ...string) {
	b.t.Helper()
	u, err := b.Runtime.Store().User(b.t.Context(), user)
	require.NoError(b.t, err)
	u.Groups = groups
	require.NoError(b.t, u.Validate())
	b.Write(b.t, func(tx *store.Tx) error { return tx.UpdateUser(u) })
}

// open opens a client to groups.
func (b *fixture) open(client string, groups ...string) {
	b.t.Helper()
	c, err := b.Runtime.Store().Client(b.t.Context(), client)
	require.NoError(b.t, err)
	c.Groups = groups
	require.NoError(b.t, c.Validate())
	b.Write(b.t, func(tx *store.Tx) error { _, err := tx.UpdateClient(c); return err })
}

// Applications learn the groups of a person with the scope of that name, and not without.
func TestGroupsOfAPerson(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	withGroups := base().with(params{"scope": "openid groups"})
	require.Equal(t, []any{}, b.claims(b.flow(withGroups).IDToken)["groups"])
	b.put("user-ada", "staff", "payroll", "staff")
	got := b.flow(withGroups)
	require.Equal(t, []any{"payroll", "staff"}, b.claims(got.IDToken)["groups"])
	require.JSONEq(t, `{"sub":"user-ada","groups":["payroll","staff"]}`, b.userinfo(got.AccessToken).Body.String())
	require.NotContains(t, b.claims(b.flow(base()).IDToken), "groups")
	u := b.browser()
	asked := u.authorize(withGroups.with(params{"client_id": "asking"}))
	requirePage(t, u.signIn(asked, "ada@example.com", right), http.StatusOK, "the groups that you are in")
}

// An application may be open to groups alone: others read that, and the application gets access_denied. Whoever leaves the
// groups is refused at the next refresh.
func TestApplicationsOfGroups(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.open("app", "staff", "acme/recruiters")
	u := b.browser()
	denied := u.signIn(u.authorize(base()), "ada@example.com", right)
	requirePage(t, denied, http.StatusForbidden, "You can’t use Payroll", "ada@example.com")
	requireError(t, u.submit(denied, `value="another"`, url.Values{"action": {"back"}}), base(), "access_denied")
	requirePage(t, u.submit(denied, `value="another"`, url.Values{"action": {"another"}}), http.StatusOK, `id="password"`)
	silent := base().with(params{"prompt": "none"})
	requireError(t, u.authorize(silent), silent, "access_denied")
	require.NotEmpty(t, back(t, u.authorize(base().with(params{"client_id": "other"})), callback).Get("code"), "it is open to all")

	b.put("user-ada", "staff")
	had := requireTokens(t, b.exchange("app", back(t, u.authorize(base()), callback).Get("code")))
	late := back(t, u.authorize(base()), callback).Get("code")
	had = requireTokens(t, b.refreshed(had.RefreshToken))
	b.put("user-ada", "staff of another house")
	requireFault(t, b.refreshed(had.RefreshToken), http.StatusBadRequest, "invalid_grant")
	requireFault(t, b.exchange("app", late), http.StatusBadRequest, "invalid_grant")
	requirePage(t, u.authorize(base()), http.StatusForbidden, "You can’t use Payroll")
}

// Groups of a company's provider are called after it, and are those of the last sign-in there.
func TestGroupsOfUpstreams(t *testing.T) {
	t.Parallel()
	c := newCompanies(t)
	for _, up := range c.Provider.Upstreams {
		up.WantsGroups, up.GroupsClaim = true, "teams"
	}
	c.renew()
	groups := func(id string, at *teller, email string, teams ...string) []string {
		t.Helper()
		told := account("1", email)
		told["teams"] = teams
		require.NotEmpty(t, back(t, c.come(id, at, email, told), callback).Get("code"))
		u, err := c.Runtime.Store().UserByEmail(t.Context(), email)
		require.NoError(t, err)
		return u.AllGroups()
	}
	require.Equal(t, []string{"acme/payroll", "acme/recruiters"},
		groups("acme", c.acme, "ann@acme.example", "recruiters", "payroll", " recruiters\n", ""))
	require.Equal(t, []string{"globex/acme/recruiters", "globex/staff"},
		groups("globex", c.globex, "ada@example.com", "staff", "acme/recruiters"))
	c.put("user-ada", "staff")
	require.Equal(t, []string{"globex/staff", "staff"}, groups("globex", c.globex, "ada@example.com", "staff"))
	c.Write(t, func(tx *store.Tx) error { _, err := tx.DeleteUpstreamAccounts("user-ada", c.Now()); return err })
	u, err := c.Runtime.Store().User(t.Context(), "user-ada")
	require.NoError(t, err)
	require.Equal(t, []string{"staff"}, u.AllGroups())

	many := account("1", "ann@acme.example")
	many["teams"] = make([]string, identity.MaxUpstreamGroups+1)
	requireError(t, c.come("acme", c.acme, "ann@acme.example", many), base(), "server_error")
	many["_claim_names"] = json.RawMessage(`{"groups":"src1"}`)
	delete(many, "teams")
	requireError(t, c.come("acme", c.acme, "ann@acme.example", many), base(), "server_error")
}
