package manage_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
)

// Whatever a request brought about before its process ended is not done again, and its repeat tells of it.
func TestACrashBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	lost := func(path, body string) (repeat func() reply) {
		b.must(http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "k")
		b.forget()
		return func() reply { return b.must(http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "k") }
	}
	again := lost(application+"/transitions", `{"step":"hired"}`)()
	require.Len(t, items(b, application+"/transitions"), 1)
	require.Contains(t, again.body, items(b, application+"/transitions")[0]["id"])

	path := application + "/documents?fileName=cv.txt"
	again = lost(path, "the content")()
	require.Len(t, items(b, application+"/documents"), 1)
	require.Contains(t, again.body, items(b, application+"/documents")[0]["id"])
	require.Len(t, b.files(), 1)
}

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
func (b *bench) passwordOf(list, id string) string {
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

// isOf tells whether a hash is that of a password.
func (b *bench) isOf(hash, plain string) bool {
	b.t.Helper()
	attempt, _ := password.NewFailures(b.Clock.Now).Try("ada", "192.0.2.1")
	right, err := attempt.Verify(b.t.Context(), hash, plain)
	require.NoError(b.t, err)
	return right
}

// A secret that nobody has seen is void, and what it was made for is there once.
func TestACrashBeforeASecretIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, test := range map[string]struct {
		body   string
		secret func(made) string
		good   func(m made, secret string) bool
	}{
		"/v1/api-keys": {newKey, func(m made) string { return m.Key }, func(m made, key string) bool {
			k, err := b.Runtime.Store().APIKeyByHash(t.Context(), hiring.HashAPIKey(key))
			return err == nil && k.ID == m.ID
		}},
		"/v1/tenants/acme/api-users": {newAPIUser, func(m made) string { return m.Password }, func(m made, plain string) bool {
			return b.isOf(b.passwordOf("/v1/tenants/acme/api-users", m.ID), plain)
		}},
		"/v1/users": {newUser, func(m made) string { return m.Password }, func(m made, plain string) bool {
			return b.isOf(b.passwordOf("/v1/users", m.ID), plain)
		}},
		"/v1/oauth-clients": {newClient, func(m made) string { return m.Secret }, func(m made, secret string) bool {
			all, err := b.Runtime.Store().ClientSecrets(t.Context(), m.ID)
			return err == nil && slices.Contains(all, identity.HashSecret(secret))
		}},
	} {
		post := func() reply {
			return b.must(http.StatusCreated, http.MethodPost, path, test.body, "Idempotency-Key", "k")
		}
		first := post()
		lost := parsed[made](b, first)
		require.True(t, test.good(lost, test.secret(lost)), path)
		for range 2 {
			b.forget()
			b.Clock.Advance(time.Minute)
			answer := post()
			again := parsed[made](b, answer)
			require.Equal(t, first.header.Get("Location"), answer.header.Get("Location"), path)
			require.Equal(t, lost.CreatedAt, again.CreatedAt, path)
			require.Equal(t, lost.ID, again.ID, path)
			require.NotEqual(t, test.secret(lost), test.secret(again), path)
			require.False(t, test.good(lost, test.secret(lost)), "%s: what nobody has seen is good", path)
			require.True(t, test.good(again, test.secret(again)), path)
			require.Len(t, items(b, path), 1, path)
			lost = again
		}
	}
}

func TestACrashBeforeWhatWasEndedMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, body := range map[string]string{
		"/v1/api-keys": newKey, "/v1/tenants/acme/api-users": newAPIUser, "/v1/users": newUser,
	} {
		a := b.must(http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "k")
		b.forget()
		b.must(http.StatusNoContent, http.MethodDelete, a.header.Get("Location"), "")
		require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, path, body, "Idempotency-Key", "k"), "revoked or disabled since", path)
	}
}

// A password that was sent stays, or what it was changed to meanwhile.
func TestACrashBeforeAUserWithAPasswordIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, body := range map[string]string{
		"/v1/tenants/acme/api-users": `{"userName":"p@example.com","password":"correct horse"}`, "/v1/users": `{"email":"ada@example.com","password":"correct horse"}`,
	} {
		post := func() reply { return b.must(http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "k") }
		first := post()
		id := parsed[made](b, first).ID
		b.must(http.StatusOK, http.MethodPost, path+"/"+id+"/reset", `{"password":"another horse"}`)
		b.forget()
		require.Equal(t, first.body, post().body)
		require.True(t, b.isOf(b.passwordOf(path, id), "another horse"), path)
	}
}

// The secret that was good before a rotation stays good when the rotation is repeated.
func TestACrashInARotation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := parsed[made](b, b.must(http.StatusCreated, http.MethodPost, "/v1/oauth-clients", newClient))
	b.Clock.Advance(time.Second)
	rotate := func() string {
		return parsed[made](b, b.must(http.StatusOK, http.MethodPost, "/v1/oauth-clients/payroll/reset", "", "Idempotency-Key", "k")).Secret
	}
	lost := rotate()
	b.forget()
	b.Clock.Advance(time.Minute)
	again := rotate()
	require.NotEqual(t, lost, again)
	good, err := b.Runtime.Store().ClientSecrets(t.Context(), "payroll")
	require.NoError(t, err)
	require.Equal(t, []identity.Hash{identity.HashSecret(first.Secret), identity.HashSecret(again)}, good)
}

func TestACrashBeforeARedeliveryIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.delivery(b.export("acme", "u-1"), "hris", hiring.Delivered, 200)
	redeliver := func() reply {
		return b.send(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", `{"integrations":["hris"]}`, "Idempotency-Key", "k")
	}
	first := redeliver()
	require.Contains(t, first.body, `"started":["hris"]`)
	e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", "u-1")
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, b.Clock.Now(), "hris") })
	b.forget()
	again := redeliver()
	require.Equal(t, first.status, again.status, again.body)
	require.JSONEq(t, first.body, again.body)
	after, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", "u-1")
	require.NoError(t, err)
	require.Equal(t, e.Round, after.Round)
}
