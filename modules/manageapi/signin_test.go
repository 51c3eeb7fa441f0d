package manageapi_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestUsersAreMadeDisabledAndReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.must(http.StatusCreated, http.MethodPost, "/v1/users",
		`{"email":"Ada@example.com","emailVerified":true,"name":"Ada Lovelace","givenName":"Ada","familyName":"Lovelace"}`)
	made := parsed[struct{ ID, Password string }](b, a)
	require.Equal(t, "/v1/users/"+made.ID, a.header.Get("Location"))
	require.Len(t, made.Password, 43)
	matches := func(plain string) bool {
		u, err := b.Runtime.Store().User(t.Context(), made.ID)
		require.NoError(t, err)
		require.NotContains(t, u.Password, plain)
		return b.isOf(u.Password, plain) && u.DisabledAt.IsZero()
	}
	require.True(t, matches(made.Password))
	for _, path := range []string{"/v1/users", "/v1/users/" + made.ID} {
		shown := b.must(http.StatusOK, http.MethodGet, path, "").body
		require.Contains(t, shown, "Ada@example.com")
		require.NotContains(t, shown, "password")
	}
	b.must(http.StatusNoContent, http.MethodDelete, "/v1/users/"+made.ID, "")
	require.False(t, matches(made.Password))
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/users/"+made.ID, "").body, "disabledAt")
	require.NotContains(t, b.must(http.StatusOK, http.MethodPost, "/v1/users/"+made.ID+"/reset",
		`{"password":"correct horse"}`).body, "correct")
	require.True(t, matches("correct horse"))
	again := parsed[struct{ Password string }](b, b.must(http.StatusOK, http.MethodPost, "/v1/users/"+made.ID+"/reset",
		``))
	require.True(t, matches(again.Password))

	require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, "/v1/users", `{"email":"ada@EXAMPLE.com"}`),
		"reset their password")
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, "/v1/users", `{"email":"ada"}`),
		"write it bare")
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, "/v1/users",
		`{"email":"bob@example.com","password":"short"}`), "at least 8")
	totp := func() string {
		return parsed[struct{ TOTP string }](b, b.must(http.StatusOK, http.MethodGet, "/v1/users/"+made.ID, "")).TOTP
	}
	require.Equal(t, "off", totp())
	require.Contains(t, b.must(http.StatusOK, http.MethodPost, "/v1/users/"+made.ID+"/totp", "").body, `"totp":"pending"`)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.InsertTOTP(made.ID, []byte{1}, 1); return err })
	require.Equal(t, "on", totp())
	b.must(http.StatusOK, http.MethodPost, "/v1/users/"+made.ID+"/totp", "")
	require.Equal(t, "pending", totp(), "the factor that was set up is still good")
	b.must(http.StatusNoContent, http.MethodDelete, "/v1/users/"+made.ID+"/totp", "")
	require.Equal(t, "off", totp())
	b.refused(http.StatusNotFound, http.MethodPost, "/v1/users/nobody/totp", "")

	type accounts struct {
		Items []struct{ Issuer, Subject, JoinedAt string }
		Next  *string
	}
	joined := func(query string) accounts { return get[accounts](b, "/v1/users/"+made.ID+"/upstream-accounts"+query) }
	require.Empty(t, joined("").Items)
	b.Write(t, func(tx *store.Tx) error {
		return errors.Join(tx.InsertUpstreamAccount("https://b.example", "1", made.ID, b.Clock.Now()),
			tx.InsertUpstreamAccount("https://a.example", "2", made.ID, b.Clock.Now()))
	})
	first := joined("?limit=1")
	require.Equal(t, []string{"https://a.example", "2", b.Clock.Now().Format(time.RFC3339)},
		[]string{first.Items[0].Issuer, first.Items[0].Subject, first.Items[0].JoinedAt})
	require.Equal(t, "https://b.example", joined("?limit=1&cursor=" + *first.Next).Items[0].Issuer)
	b.must(http.StatusNoContent, http.MethodDelete, "/v1/users/"+made.ID+"/upstream-accounts", "")
	require.Empty(t, joined("").Items)
	b.refused(http.StatusNotFound, http.MethodGet, "/v1/users/nobody/upstream-accounts", "")
	b.refused(http.StatusNotFound, http.MethodDelete, "/v1/users/nobody/upstream-accounts", "")

	_, session := identity.NewSecret()
	b.Write(t, func(tx *store.Tx) error {
		u, err := tx.User(made.ID)
		return errors.Join(err, tx.InsertSession(identity.Hash{}, &identity.Session{Hash: session, Issuer: "https://gate.example.com/signin",
			UserID: u.ID, SignedInAt: b.Clock.Now(), Till: b.Clock.Now().Add(time.Hour), Browser: "Firefox, Linux"}, u))
	})
	type listed struct {
		Items []struct{ SID, Issuer, Browser, SignedInAt, UsedAt, EndsAt string }
		Next  *string
	}
	sessions := get[listed](b, "/v1/users/"+made.ID+"/sessions").Items
	require.Len(t, sessions, 1)
	require.Equal(t, []string{"Firefox, Linux", "https://gate.example.com/signin", b.Clock.Now().Format(time.RFC3339), ""},
		[]string{sessions[0].Browser, sessions[0].Issuer, sessions[0].SignedInAt, sessions[0].UsedAt})
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/users/"+made.ID, "").body, `"lastSignInAt":"`+sessions[0].SignedInAt)
	b.Clock.Advance(time.Minute)
	b.Write(t, func(tx *store.Tx) error {
		u, err := tx.User(made.ID)
		_, later := identity.NewSecret()
		return errors.Join(err, tx.InsertSession(identity.Hash{}, &identity.Session{Hash: later, Issuer: "https://other.example/signin",
			UserID: u.ID, SignedInAt: b.Clock.Now(), Till: b.Clock.Now().Add(time.Hour)}, u),
			tx.InsertClient(&identity.Client{ID: "app", CreatedAt: b.Clock.Now()}),
			tx.InsertCode(identity.Hash{1}, later, &identity.Grant{Client: "app", UserID: u.ID, SignedInAt: b.Clock.Now(), IssuedAt: b.Clock.Now()}))
	})
	latest := get[listed](b, "/v1/users/"+made.ID+"/sessions?limit=1")
	require.Equal(t, []string{"https://other.example/signin", b.Clock.Now().Format(time.RFC3339)},
		[]string{latest.Items[0].Issuer, latest.Items[0].UsedAt})
	require.Equal(t, sessions, get[listed](b, "/v1/users/"+made.ID+"/sessions?limit=1&cursor="+url.QueryEscape(*latest.Next)).Items)
	b.refused(http.StatusNotFound, http.MethodGet, "/v1/users/nobody/sessions", "")
	b.must(http.StatusNoContent, http.MethodDelete, "/v1/users/"+made.ID+"/sessions", "")
	_, err := b.Runtime.Store().Session(t.Context(), "https://gate.example.com/signin", session, b.Clock.Now())
	require.ErrorIs(t, err, store.ErrNotFound)
	b.refused(http.StatusNotFound, http.MethodDelete, "/v1/users/nobody/sessions", "")

	b.refused(http.StatusNotFound, http.MethodGet, "/v1/users/nobody", "")
	b.refused(http.StatusNotFound, http.MethodDelete, "/v1/users/nobody", "")
	b.refused(http.StatusNotFound, http.MethodPost, "/v1/users/nobody/reset", "")
	b.requireCleanLog()
}

// A user's address and names change, not who they are; one who was disabled comes back with the password they had.
func TestUsersAreChangedAndEnabled(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		made := parsed[struct{ ID, Password string }](b, b.must(http.StatusCreated, http.MethodPost, "/v1/users",
			`{"email":"ada@example.com","emailVerified":true,"name":"Ada"}`))
		b.must(http.StatusCreated, http.MethodPost, "/v1/users", `{"email":"bob@example.com"}`)
		at := "/v1/users/" + made.ID
		user := func() *identity.User {
			u, err := b.Gateway.Runtime.Store().User(t.Context(), made.ID)
			require.NoError(t, err)
			return u
		}
		before := user()
		require.Contains(t, b.must(http.StatusOK, http.MethodPut, at,
			`{"email":"Ada@Example.org","givenName":"Ada","familyName":"King"}`).body, `"email":"Ada@Example.org"`)
		want := *before
		want.Email, want.EmailVerified = "Ada@Example.org", false
		want.Name, want.GivenName, want.FamilyName = "", "Ada", "King"
		require.Equal(t, &want, user())
		b.must(http.StatusCreated, http.MethodPost, "/v1/users", `{"email":"ada@example.com"}`) // it is free again
		require.Contains(t, b.refused(http.StatusConflict, http.MethodPut, at, `{"email":"BOB@example.com"}`),
			"take another address")
		b.refused(http.StatusUnprocessableEntity, http.MethodPut, at, `{"email":"bob"}`)
		b.refused(http.StatusNotFound, http.MethodPut, "/v1/users/nobody", `{"email":"eve@example.com"}`)
		require.Equal(t, &want, user(), "refused")

		b.must(http.StatusNoContent, http.MethodDelete, at, "")
		require.False(t, user().DisabledAt.IsZero())
		require.NotContains(t, b.must(http.StatusOK, http.MethodPost, at+"/enable", "").body, "disabledAt")
		require.Equal(t, &want, user())
		b.refused(http.StatusNotFound, http.MethodPost, "/v1/users/nobody/enable", "")
	})
}

func TestOAuthClients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const settings = `"name":"Payroll","redirectUris":["https://app.example.com/cb"]`
	a := b.must(http.StatusCreated, http.MethodPost, "/v1/oauth-clients", `{"id":"payroll",`+settings+`}`)
	require.Equal(t, "/v1/oauth-clients/payroll", a.header.Get("Location"))
	type client struct {
		Secret, Algorithm string
		Secrets           int
		RequirePKCE       bool `json:"requirePkce"`

		BackchannelLogoutURI string `json:"backchannelLogoutUri"`
	}
	first := parsed[client](b, a)
	require.Equal(t, client{first.Secret, "RS256", 1, false, ""}, first)
	good := func() (all []identity.Hash) {
		all, err := b.Runtime.Store().ListClientSecrets(t.Context(), "payroll")
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []identity.Hash{identity.HashSecret(first.Secret)}, good())
	for _, path := range []string{"/v1/oauth-clients", "/v1/oauth-clients/payroll"} {
		require.NotContains(t, b.must(http.StatusOK, http.MethodGet, path, "").body, first.Secret)
	}
	reset := func() string {
		b.Clock.Advance(time.Second)
		return parsed[client](b, b.must(http.StatusOK, http.MethodPost, "/v1/oauth-clients/payroll/reset", "")).Secret
	}
	second := reset()
	require.Equal(t, []identity.Hash{identity.HashSecret(first.Secret), identity.HashSecret(second)}, good(),
		"two are good during a rotation")
	third := reset()
	require.Equal(t, []identity.Hash{identity.HashSecret(second), identity.HashSecret(third)}, good())
	b.must(http.StatusNoContent, http.MethodDelete, "/v1/oauth-clients/payroll/former-secrets", "")
	require.Equal(t, []identity.Hash{identity.HashSecret(third)}, good())

	changed := parsed[client](b, b.must(http.StatusOK, http.MethodPut, "/v1/oauth-clients/payroll",
		`{`+settings+`,"algorithm":"ES256","requirePkce":true,"backchannelLogoutUri":"https://app.example.com/out"}`))
	require.Equal(t, client{"", "ES256", 1, true, "https://app.example.com/out"}, changed)
	b.must(http.StatusNoContent, http.MethodDelete, "/v1/oauth-clients/payroll", "")
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/oauth-clients/payroll", "").body, "disabledAt")
	fourth := reset()
	require.Equal(t, []identity.Hash{identity.HashSecret(fourth)}, good(),
		"what was good before it was disabled is good again")
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, "/v1/oauth-clients/payroll", "").body, "disabledAt")

	b.refused(http.StatusConflict, http.MethodPost, "/v1/oauth-clients", `{"id":"payroll",`+settings+`}`)
	b.refused(http.StatusNotFound, http.MethodPut, "/v1/oauth-clients/nobody", `{`+settings+`}`)
	for body, want := range map[string]string{
		`{"id":"a b",` + settings + `}`:                                                   "client id",
		`{"id":"x","name":"X","redirectUris":["http://app.example.com"]}`:                 "use https",
		`{"id":"x","groups":[" staff"],` + settings + `}`:                                 "blanks around it",
		`{"id":"x","backchannelLogoutUri":"http://app.example.com/out",` + settings + `}`: "use https",
		`{"id":"x","name":"X","redirectUris":[]}`:                                         "redirectUris is empty",
		`{"id":"x","algorithm":"none",` + settings + `}`:                                  "use RS256 or ES256",
		`{"id":"x","secret":"demo-secret",` + settings + `}`:                              "in development mode",
	} {
		require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, "/v1/oauth-clients", body), want)
	}
	b.Config.Dev = true
	require.Equal(t, "demo-secret", parsed[client](b, b.must(http.StatusCreated, http.MethodPost, "/v1/oauth-clients",
		`{"id":"demo","secret":"demo-secret",`+settings+`}`)).Secret)
	require.Equal(t, []string{"demo", "payroll"}, ids(b, "/v1/oauth-clients"))
}

// Sign-in belongs to no tenant: a key of one sees nothing of it.
func TestSignInIsNoTenants(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertUser(&identity.User{ID: "ada", Email: "ada@example.com", CreatedAt: b.Clock.Now()})
	})
	acme, all := b.as(b.key("acme", "acme", model.Admin)), b.as(b.key("all", "", model.Viewer))
	for _, path := range []string{"/v1/users", "/v1/users/ada", "/v1/users/ada/upstream-accounts", "/v1/oauth-clients",
		"/v1/oauth-clients/demo"} {
		require.Contains(t, acme.refused(http.StatusNotFound, http.MethodGet, path, ""), "ask with a key that opens all")
	}
	acme.refused(http.StatusNotFound, http.MethodGet, "/v1/sign-ins", "")
	acme.refused(http.StatusNotFound, http.MethodPost, "/v1/users", `{"email":"eve@example.com"}`)
	all.must(http.StatusOK, http.MethodGet, "/v1/users/ada", "")
}

func TestSignInsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, event := range []string{"sign-in", "authorize", "token"} {
		b.Write(t, func(tx *store.Tx) error {
			return tx.InsertSigninEntry(&identity.Entry{At: b.Clock.Now(), Event: event, Result: "success",
				Issuer: "https://gate.example.com/signin", Client: "app", UserID: "ada", Address: "192.0.2.1"})
		})
	}
	type page struct {
		Items []struct{ Event, User, Address string }
		Next  *string
	}
	first := get[page](b, "/v1/sign-ins?limit=2")
	require.Equal(t, "token", first.Items[0].Event)
	require.Equal(t, "192.0.2.1", first.Items[0].Address)
	last := get[page](b, "/v1/sign-ins?limit=2&cursor="+*first.Next)
	require.Len(t, last.Items, 1)
	require.Equal(t, "sign-in", last.Items[0].Event)
	require.Nil(t, last.Next)
}

func TestSignInCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	address := strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate")
	user := func(in string, args ...string) (string, string, error) {
		cmd := admin.User()
		cmd.SetIn(strings.NewReader(in))
		return run(t, cmd, append(args, "--admin", address)...)
	}
	client := func(args ...string) (string, string, error) {
		return run(t, admin.OAuthClient(), append(args, "--admin", address)...)
	}
	out, hints, err := user("correct horse\n", "set", "ada@example.com", "--given-name", "Ada", "--family-name",
		"Lovelace", "--verified", "--password-file", "-")
	require.NoError(t, err)
	require.Empty(t, hints)
	require.Regexp(t, `^ada@example\.com \([0-9a-f-]{36}\) may sign in\n$`, out)
	u, err := b.Runtime.Store().UserByEmail(t.Context(), "ada@example.com")
	require.NoError(t, err)
	require.Equal(t, []any{"Ada Lovelace", true}, []any{u.Name, u.EmailVerified})
	require.True(t, b.isOf(u.Password, "correct horse"))
	out, _, err = user("", "list")
	require.NoError(t, err)
	require.Contains(t, out, "ada@example.com  Ada Lovelace")
	out, _, err = user("", "disable", u.ID)
	require.NoError(t, err)
	require.Equal(t, u.ID+" is disabled\n", out)
	out, _, err = user("", "totp", u.ID)
	require.NoError(t, err)
	require.Equal(t, u.ID+" sets up a second factor at the next sign-in\n", out)
	out, _, err = user("", "totp", u.ID, "--off")
	require.NoError(t, err)
	require.Equal(t, u.ID+" needs no second factor\n", out)
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertUpstreamAccount("https://login.example.com", "1", u.ID, b.Clock.Now())
	})
	out, _, err = user("", "unlink", u.ID)
	require.NoError(t, err)
	require.Equal(t, u.ID+" is linked to no account at another provider any more\n", out)
	_, err = b.Runtime.Store().UserByUpstreamAccount(t.Context(), "https://login.example.com", "1")
	require.ErrorIs(t, err, store.ErrNotFound)
	out, _, err = user("", "end-sessions", u.ID)
	require.NoError(t, err)
	require.Equal(t, u.ID+" is signed in nowhere any more\n", out)
	_, _, err = user("", "recover", u.ID)
	require.ErrorContains(t, err, "is disabled: enable them first")
	_, _, err = user("", "set", u.ID, "--new-password")
	require.NoError(t, err)
	_, _, err = user("", "recover", u.ID)
	require.ErrorContains(t, err, "mount the directive signin")
	for _, link := range []string{"", "https://gate.example.com/signin/recovery?ticket=t"} {
		b.Gateway.RecoveryLinks = append(b.Gateway.RecoveryLinks, func(of *identity.User, resets bool, till time.Time) (string, error) {
			require.Equal(t, []any{u.ID, true, b.Clock.Now().Add(24 * time.Hour)}, []any{of.ID, resets, till})
			return link, nil
		})
		out, _, err = user("", "recover", u.ID, "--reset-totp")
		if link == "" {
			require.ErrorContains(t, err, "have them recover their account there")
		}
	}
	require.NoError(t, err)
	require.Equal(t, "https://gate.example.com/signin/recovery?ticket=t\nIt works once, until "+
		b.Clock.Now().Add(24*time.Hour).Format("2006-01-02 15:04 UTC")+".\n", out)
	_, _, err = user("", "unlink", "nobody")
	require.ErrorContains(t, err, "there is no user of that id")
	out, hints, err = user("", "set", u.ID, "--new-password")
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9_-]{43}\n$`, out)
	require.Contains(t, hints, "not shown again")

	_, _, err = client("set", "payroll")
	require.ErrorContains(t, err, "--redirect-uri")
	out, hints, err = client("set", "payroll", "--redirect-uri", "https://app.example.com/cb", "--require-pkce")
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9_-]{43}\n$`, out)
	require.NotContains(t, hints, "--end-former")
	b.Clock.Advance(time.Second)
	_, hints, err = client("set", "payroll", "--new-secret")
	require.NoError(t, err)
	require.Contains(t, hints, "hiregate oauth-client set payroll --end-former")
	out, _, err = client("set", "payroll", "--end-former")
	require.NoError(t, err)
	require.Equal(t, "the newest secret of payroll is the only one\n", out)
	out, _, err = client("list")
	require.NoError(t, err)
	require.Regexp(t, `payroll +payroll +RS256 +1 `, out)
	_, _, err = client("disable", "payroll")
	require.NoError(t, err)
	_, _, err = client("disable", "nobody")
	require.ErrorContains(t, err, "there is no OAuth client of that id")
}

// An administrator puts people into groups; those of other providers have a slash, and are not theirs to give.
func TestGroupsOfUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type user struct {
		ID                     string
		Groups, UpstreamGroups []string
	}
	made := parsed[user](b, b.must(http.StatusCreated, http.MethodPost, "/v1/users", `{"email":"ada@example.com","groups":["staff"]}`))
	require.Equal(t, user{made.ID, []string{"staff"}, []string{}}, made)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpdateUserFromUpstream(&identity.User{ID: made.ID, UpstreamGroups: []string{"acme/recruiters"}})
	})
	require.Equal(t, user{made.ID, []string{}, []string{"acme/recruiters"}},
		parsed[user](b, b.must(http.StatusOK, http.MethodPut, "/v1/users/"+made.ID, `{"email":"ada@example.com"}`)))
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPut, "/v1/users/"+made.ID,
		`{"email":"ada@example.com","groups":["acme/owners"]}`), "has a slash")
	out, _, err := b.cli("user", "groups", "ada@example.com", "staff", "payroll")
	require.NoError(t, err)
	require.Contains(t, out, "ada@example.com is in 2 groups")
	out, _, err = b.cli("user", "show", "ada@example.com")
	require.NoError(t, err)
	require.Contains(t, out, "staff, payroll, acme/recruiters")
}

// An administrator may have people choose another password than the one that they are given.
func TestPasswordsToChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type user struct {
		ID         string
		MustChange bool
	}
	made := parsed[user](b, b.must(http.StatusCreated, http.MethodPost, "/v1/users", `{"email":"ada@example.com","mustChange":true}`))
	require.True(t, made.MustChange)
	shown := func() bool {
		return parsed[user](b, b.must(http.StatusOK, http.MethodGet, "/v1/users/"+made.ID, "")).MustChange
	}
	require.True(t, shown())
	b.must(http.StatusOK, http.MethodPost, "/v1/users/"+made.ID+"/reset", "")
	require.False(t, shown())
	_, _, err := b.cli("user", "set", "ada@example.com", "--new-password", "--change")
	require.NoError(t, err)
	require.True(t, shown())
}
