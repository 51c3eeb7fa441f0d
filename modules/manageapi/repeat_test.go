package manageapi_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
)

// made is what an answer says of something that was made, with its secret.
type made struct {
	ID, Key, Password, Secret, CreatedAt string
}

const (
	newAPIUser = `{"userName":"p@example.com"}`
	newUser    = `{"email":"ada@example.com"}`
	newClient  = `{"id":"payroll","name":"Payroll","redirectUris":["https://app.example.com/cb"]}`
)

// passwordOf is the hash of the password of somebody in a list of the API.
func (b *fixture) passwordOf(list, id string) string {
	b.t.Helper()
	if list == "/v1/users" {
		u, err := b.Runtime.Store().User(b.t.Context(), id)
		require.NoError(b.t, err)
		return u.Password
	}
	u, err := b.Runtime.Store().APIUser(b.t.Context(), "acme", id)
	require.NoError(b.t, err)
	return u.Password
}

// isOf reports whether a hash is that of a password.
func (b *fixture) isOf(hash, plain string) bool {
	b.t.Helper()
	attempt, _ := password.NewFailures(b.Clock.Now).Try("ada", "192.0.2.1")
	right, err := attempt.Verify(b.t.Context(), hash, plain)
	require.NoError(b.t, err)
	return right
}

// What a request made is there once, and its repeat is answered with it.
func TestARepeatShowsWhatWasMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	for list, test := range map[string]struct{ path, body string }{
		"/transitions": {application + "/transitions", `{"step":"hired"}`},
		"/documents":   {application + "/documents?fileName=cv.txt", "the content"},
	} {
		post := func() reply {
			return b.must(http.StatusCreated, http.MethodPost, test.path, test.body, "Idempotency-Key", "k")
		}
		first := post()
		b.Clock.Advance(time.Minute)
		again := post()
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
		require.JSONEq(t, first.body, again.body)
		require.Len(t, items(b, application+list), 1)
	}
	require.Len(t, b.files(), 1)
}

// A secret is shown once. The repeat of the request that made it says how to get another, and the secret stays good.
func TestARepeatMakesNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, test := range map[string]struct {
		body    string
		secret  func(made) string
		good    func(m made, secret string) bool
		instead string
	}{
		"/v1/api-keys": {newKey, func(m made) string { return m.Key }, func(m made, key string) bool {
			k, err := b.Runtime.Store().APIKeyByHash(t.Context(), model.HashAPIKey(key))
			return err == nil && k.ID == m.ID
		}, "revoke it"},
		"/v1/tenants/acme/api-users": {newAPIUser, func(m made) string { return m.Password },
			func(m made, plain string) bool {
				return b.isOf(b.passwordOf("/v1/tenants/acme/api-users", m.ID), plain)
			}, "hiregate api-user set … --new-password"},
		"/v1/users": {newUser, func(m made) string { return m.Password }, func(m made, plain string) bool {
			return b.isOf(b.passwordOf("/v1/users", m.ID), plain)
		}, "hiregate user set … --new-password"},
		"/v1/oauth-clients": {newClient, func(m made) string { return m.Secret }, func(m made, secret string) bool {
			all, err := b.Runtime.Store().ListClientSecrets(t.Context(), m.ID)
			return err == nil && slices.Contains(all, identity.HashSecret(secret))
		}, "hiregate oauth-client set … --new-secret"},
	} {
		m := parsed[made](b, b.must(http.StatusCreated, http.MethodPost, path, test.body, "Idempotency-Key", "k"))
		for range 2 {
			require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, path, test.body, "Idempotency-Key", "k"),
				test.instead, path)
		}
		require.True(t, test.good(m, test.secret(m)), path)
		require.Len(t, items(b, path), 1, path)
		if path == "/v1/api-keys" {
			continue
		}
		reset := func(want int, body string) reply {
			return b.must(want, http.MethodPost, path+"/"+m.ID+"/reset", body, "Idempotency-Key", "r")
		}
		m = parsed[made](b, reset(http.StatusOK, ""))
		require.Contains(t, reset(http.StatusConflict, "").body, test.instead, path)
		require.True(t, test.good(m, test.secret(m)), path)
	}
}

// A password that was sent stays, or what it was changed to meanwhile, and the repeat shows the user.
func TestARepeatWithAPassword(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, body := range map[string]string{
		"/v1/tenants/acme/api-users": `{"userName":"p@example.com","password":"correct horse"}`,
		"/v1/users":                  `{"email":"ada@example.com","password":"correct horse"}`,
	} {
		post := func() reply { return b.must(http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "k") }
		first := post()
		id := parsed[made](b, first).ID
		reset := func() reply {
			return b.must(http.StatusOK, http.MethodPost, path+"/"+id+"/reset", `{"password":"another horse"}`,
				"Idempotency-Key", "r")
		}
		require.Equal(t, reset().body, reset().body)
		again := post()
		require.Equal(t, first.body, again.body)
		require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
		require.True(t, b.isOf(b.passwordOf(path, id), "another horse"), path)
	}
}

func TestARepeatOfARedelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.delivery(b.export("acme", "u-1"), "hris", model.Delivered, 200)
	redeliver := func() reply {
		return b.send(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", `{"integrations":["hris"]}`,
			"Idempotency-Key", "k")
	}
	first := redeliver()
	require.Contains(t, first.body, `"started":["hris"]`)
	e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", "u-1")
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, b.Clock.Now(), "hris") })
	again := redeliver()
	require.Equal(t, first.status, again.status, again.body)
	require.JSONEq(t, first.body, again.body)
	after, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", "u-1")
	require.NoError(t, err)
	require.Equal(t, e.Round, after.Round)
}
