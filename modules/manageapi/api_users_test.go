package manageapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const partners = acme + "/api-users"

// token issues a token to the only user of the Apply API of that name, as that does.
func (b *fixture) token(name string) (good func() bool) {
	b.t.Helper()
	db := b.Runtime.Store()
	named, err := db.ListAPIUsersByName(b.t.Context(), name)
	require.NoError(b.t, err)
	require.Len(b.t, named, 1)
	u := named[0]
	_, hash := identity.NewSecret()
	issued := false
	b.Write(b.t, func(tx *store.Tx) (err error) {
		issued, err = tx.InsertAPIToken(u, hash, b.Clock.Now())
		return err
	})
	return func() bool {
		_, err := db.APIUserByToken(b.t.Context(), hash, b.Clock.Now())
		if err != nil {
			require.ErrorIs(b.t, err, store.ErrNotFound)
		}
		return issued && err == nil
	}
}

// opens reports whether a password is that of a user of the Apply API.
func (b *fixture) opens(name, plain string) bool {
	b.t.Helper()
	u, err := b.Runtime.Store().APIUserByName(b.t.Context(), "acme", name)
	require.NoError(b.t, err)
	require.NotContains(b.t, u.Password, plain)
	return b.isOf(u.Password, plain)
}

func TestAPIUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const name = "Partner@example.com"
	a := b.must(http.StatusCreated, http.MethodPost, partners, `{"userName":"`+name+`"}`)
	type user struct{ ID, UserName, Tenant, Password, DisabledAt string }
	made := parsed[user](b, a)
	one := partners + "/" + made.ID
	require.Equal(t, one, a.header.Get("Location"))
	require.Equal(t, user{made.ID, name, "acme", made.Password, ""}, made)
	require.Len(t, made.Password, 43)
	require.True(t, b.opens("partner@EXAMPLE.com", made.Password))
	for _, path := range []string{partners, one, partners + "?userName=partner@example.com"} {
		shown := b.must(http.StatusOK, http.MethodGet, path, "").body
		require.Contains(t, shown, name)
		require.NotContains(t, strings.ToLower(shown), "password")
	}
	require.Empty(t, ids(b, partners+"?userName=nobody@example.com"))
	require.Empty(t, ids(b, "/v1/tenants/globex/api-users?userName=partner@example.com"))

	good := b.token(name)
	require.True(t, good())
	require.NotContains(t, b.must(http.StatusOK, http.MethodPost, one+"/reset", `{"password":"correct horse"}`).body,
		"correct horse")
	require.False(t, good(), "the password was changed")
	require.True(t, b.opens(name, "correct horse"))

	good = b.token(name)
	require.True(t, good())
	b.must(http.StatusNoContent, http.MethodDelete, one, "")
	b.must(http.StatusNoContent, http.MethodDelete, one, "")
	require.False(t, good())
	require.False(t, b.token(name)())
	require.NotEmpty(t, parsed[user](b, b.must(http.StatusOK, http.MethodGet, one, "")).DisabledAt)
	again := parsed[user](b, b.must(http.StatusOK, http.MethodPost, one+"/reset", ``))
	require.NotEmpty(t, again.DisabledAt, "another password lets nobody in who is disabled")
	require.True(t, b.opens(name, again.Password))
	require.False(t, b.token(name)())
	require.Empty(t, parsed[user](b, b.must(http.StatusOK, http.MethodPost, one+"/enable", ``)).DisabledAt)
	require.False(t, good(), "a token came back to life")
	require.True(t, b.token(name)())

	require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, partners, `{"userName":"partner@example.com"}`),
		"is taken")
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, partners, `{"userName":"partner"}`),
		"userName is no e-mail address")
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, partners,
		`{"userName":"Bob <bob@example.com>"}`), "userName is no e-mail address")
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, partners,
		`{"userName":"bob@example.com","password":"short"}`), "at least 8")
	for _, path := range []string{"/v1/tenants/globex/api-users/" + made.ID, partners + "/nobody"} {
		b.refused(http.StatusNotFound, http.MethodGet, path, "")
		b.refused(http.StatusNotFound, http.MethodDelete, path, "")
		b.refused(http.StatusNotFound, http.MethodPost, path+"/reset", "")
		b.refused(http.StatusNotFound, http.MethodPost, path+"/enable", "")
	}
	require.True(t, b.token(name)())
	b.requireCleanLog()
	for _, entry := range b.Logged.All() {
		for _, f := range entry.Context {
			require.NotContains(t, f.String, "correct horse")
			require.NotContains(t, strings.ToLower(f.String), "partner@")
		}
	}
	// which tells nothing of acme's
	b.must(http.StatusCreated, http.MethodPost, "/v1/tenants/globex/api-users", `{"userName":"partner@example.com"}`)
}

// Who changes the users of the Apply API is in the log, and takes the role admin.
func TestAPIUsersTakeTheRoleAdmin(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	operator, admin := b.as(b.key("operator", "acme", model.Operator)), b.as(b.key("admin", "acme", model.Admin))
	operator.refused(http.StatusForbidden, http.MethodPost, partners, `{"userName":"partner@example.com"}`)
	made := parsed[struct{ ID string }](admin, admin.must(http.StatusCreated, http.MethodPost, partners,
		`{"userName":"partner@example.com"}`))
	require.Equal(t, []string{made.ID}, ids(operator, partners))
	for method, path := range map[string]string{http.MethodDelete: "", http.MethodPost: "/reset"} {
		operator.refused(http.StatusForbidden, method, partners+"/"+made.ID+path, "")
	}
	logged := b.Logged.FilterField(zap.String("actor", "admin")).All()
	require.Len(t, logged, 1)
	require.Equal(t, "POST /v1/tenants/{tenant}/api-users", logged[0].ContextMap()["request"])
}

func TestAPIUsersEndWithTheirTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech","secrets":[]}`)
	b.must(http.StatusCreated, http.MethodPost, "/v1/tenants/initech/api-users", `{"userName":"partner@example.com"}`)
	good := b.token("partner@example.com")
	require.True(t, good())
	b.must(http.StatusOK, http.MethodDelete, "/v1/tenants/initech", "")
	require.False(t, good())
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech","secrets":[]}`)
	require.Empty(t, items(b, "/v1/tenants/initech/api-users"), "a user of the tenant that is gone")
	b.must(http.StatusCreated, http.MethodPost, partners, `{"userName":"partner@example.com"}`)
	require.False(t, good())
}

func TestAPIUserCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const partner = "acme/partner@example.com"
	do := func(in string, args ...string) (string, string, error) {
		cmd := admin.APIUser()
		cmd.SetIn(strings.NewReader(in))
		return run(t, cmd, append(args, "--admin", strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate"))...)
	}
	out, hints, err := do("correct horse\n", "set", partner, "--password-file", "-")
	require.NoError(t, err)
	require.Empty(t, hints)
	require.Equal(t, partner+" may apply\n", out)
	require.True(t, b.opens("partner@example.com", "correct horse"))
	out, _, err = do("", "list", "acme")
	require.NoError(t, err)
	require.Regexp(t,
		`^USER NAME +ID +CREATED +DISABLED\n`+
			`partner@example\.com  [0-9a-f-]{36}  2026-11-20T12:00:00Z \(\d+\w ago\)  -\n$`, out)
	good := b.token("partner@example.com")
	out, hints, err = do("", "set", partner, "--new-password")
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9_-]{43}\n$`, out)
	require.Equal(t, "It is the password of "+partner+", and is not shown again.\n", hints)
	require.True(t, b.opens("partner@example.com", strings.TrimSpace(out)))
	require.False(t, good())
	out, _, err = do("", "disable", "acme/Partner@Example.com")
	require.NoError(t, err)
	require.Equal(t, "acme/Partner@Example.com is disabled\n", out)
	out, hints, err = do("battery staple", "set", partner, "--password-file", "-")
	require.NoError(t, err)
	require.Equal(t, partner+" has another password, and needs a new token\n", out)
	require.Contains(t, hints, "hiregate api-user enable "+partner)
	out, _, err = do("", "list", "acme", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"disabledAt":"2026-11-20T12:00:00Z"`)
	out, _, err = do("", "enable", partner)
	require.NoError(t, err)
	require.Equal(t, partner+" may apply, once they have a new token\n", out)
	require.True(t, b.token("partner@example.com")())

	_, _, err = do("", "disable", "partner@example.com")
	require.ErrorContains(t, err, "write it as TENANT/USERNAME")
	_, _, err = do("", "disable", "globex/partner@example.com")
	require.EqualError(t, err, "tenant globex has no API user partner@example.com: hiregate api-user list "+
		"globex shows those it has")
	_, _, err = do("", "set", partner)
	require.ErrorContains(t, err, "--new-password or --password-file gives them another")
}
