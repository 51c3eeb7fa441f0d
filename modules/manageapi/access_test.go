package manageapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// key puts an API key into the store, and gives what its holder sends.
func (b *fixture) key(id, tenant string, role model.Role) string {
	b.t.Helper()
	key, hash := model.NewAPIKey()
	b.Write(b.t, func(tx *store.Tx) error {
		return tx.InsertAPIKey(&model.APIKey{ID: id, Label: id, Tenant: tenant, Role: role, CreatedAt: b.Clock.Now()}, hash)
	})
	return "Bearer " + key
}

// as is the same fixture with a key.
func (b *fixture) as(auth string) *fixture {
	k := *b
	k.auth = auth
	return &k
}

func TestNothingWithoutAGoodKey(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	good, revoked := b.key("k-1", "", model.Admin), b.key("k-2", "", model.Admin)
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.RevokeAPIKey("k-2", b.Clock.Now())
		return err
	})
	var bodies []string
	for _, auth := range []string{"", "Bearer", "Bearer ", "Basic YTpi", good[len("Bearer "):],
		"Token " + good[len("Bearer "):], good + "x", revoked, "Bearer dev-key", "Bearer hgk_"} {
		for _, r := range manageapi.Routes() {
			a := b.as(auth).must(http.StatusUnauthorized, r.Method, r.Path, "")
			require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
			bodies = append(bodies, a.body)
		}
	}
	for _, body := range bodies {
		require.Equal(t, bodies[0], body, "the answer tells what was wrong with the key")
	}
	twice := b.as(good).send(http.MethodGet, "/v1/exports", "", "Authorization", good)
	require.Equal(t, http.StatusUnauthorized, twice.status)
	for _, auth := range []string{good, "bearer " + good[len("Bearer "):]} {
		b.as(auth).must(http.StatusOK, http.MethodGet, "/v1/exports", "")
	}
}

func TestDevKeyIsThereInDevelopmentModeOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Dev = true
	k := b.keyed().as("Bearer dev-key")
	k.must(http.StatusOK, http.MethodGet, "/v1/api-keys", "")
	require.Equal(t, []string{"acme", "globex", "idle"}, ids(k, "/v1/tenants"))
}

func TestRolesBoundWhatAKeyMayDo(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	for _, role := range model.Roles {
		k := b.as(b.key(string(role), "", role))
		for _, r := range manageapi.Routes() {
			status := k.send(r.Method, r.Path, "").status
			require.Equal(t, !role.May(r.Role), status == http.StatusForbidden, "%s: %s %s answered %d", role, r.Method, r.Path,
				status)
			require.NotEqual(t, http.StatusUnauthorized, status)
		}
	}
	for _, r := range manageapi.Routes() {
		if r.Method != http.MethodGet {
			require.NotEqual(t, model.Viewer, r.Role, "%s %s changes something", r.Method, r.Path)
		}
	}
	require.Contains(t, b.as(b.key("v", "", model.Viewer)).refused(http.StatusForbidden, http.MethodPut,
		"/v1/tenants/acme/candidates/c-1", "{}"), "the role viewer, and this takes operator")
}

func TestTheUseOfAKeyIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	k := b.as(b.key("k-1", "", model.Viewer))
	used := func() time.Time {
		k.must(http.StatusOK, http.MethodGet, "/v1/exports", "")
		key, err := b.Runtime.Store().APIKey(t.Context(), "k-1")
		require.NoError(t, err)
		return key.LastUsedAt
	}
	first := b.Clock.Now()
	require.Equal(t, first, used())
	b.Clock.Advance(59 * time.Second)
	require.Equal(t, first, used())
	b.Clock.Advance(time.Second)
	require.Equal(t, first.Add(time.Minute), used())
}

func TestAPIKeysAreMadeAndRevoked(t *testing.T) {
	t.Parallel()
	onEach(t, testAPIKeysAreMadeAndRevoked)
}

func testAPIKeysAreMadeAndRevoked(t *testing.T, b *fixture) {
	b = b.keyed()
	admin := b.as(b.key("root", "", model.Admin))
	a := admin.must(http.StatusCreated, http.MethodPost, "/v1/api-keys",
		`{"label":"CI","tenant":"acme","role":"operator"}`)
	made := parsed[struct{ ID, Key, Tenant, Role, Label string }](b, a)
	require.Equal(t, "/v1/api-keys/"+made.ID, a.header.Get("Location"))
	require.Equal(t, []string{"acme", "operator", "CI"}, []string{made.Tenant, made.Role, made.Label})
	k := b.as("Bearer " + made.Key)
	k.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme", "")

	for _, path := range []string{"/v1/api-keys", "/v1/api-keys/" + made.ID} {
		shown := admin.must(http.StatusOK, http.MethodGet, path, "").body
		require.Contains(t, shown, made.ID)
		require.NotContains(t, shown, "hgk_")
	}
	admin.must(http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+made.ID, "")
	k.must(http.StatusUnauthorized, http.MethodGet, "/v1/tenants/acme", "")
	require.Contains(t, admin.must(http.StatusOK, http.MethodGet, "/v1/api-keys/"+made.ID, "").body, "revokedAt")
	admin.must(http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+made.ID, "")
	admin.must(http.StatusNotFound, http.MethodDelete, "/v1/api-keys/nobody", "")

	for body, want := range map[string]string{
		`{"label":"x"}`:                       "use viewer, operator, admin or compliance",
		`{"label":"x","role":"root"}`:         "use viewer, operator, admin or compliance",
		`{"role":"viewer"}`:                   "label is missing",
		`{"label":"a\u0007","role":"viewer"}`: "label has control characters",
	} {
		require.Contains(t, admin.refused(http.StatusUnprocessableEntity, http.MethodPost, "/v1/api-keys", body), want)
	}
	admin.must(http.StatusNotFound, http.MethodPost, "/v1/api-keys", `{"label":"x","role":"viewer","tenant":"nobody"}`)
	b.requireCleanLog()
}

// A tenant's admin has the keys of the tenant, and no way to any other's.
func TestATenantsAdminMakesKeysOfTheTenant(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	b.key("root", "", model.Admin)
	b.key("globex-key", "globex", model.Viewer)
	acme := b.as(b.key("acme-key", "acme", model.Admin))
	require.Equal(t, []string{"acme-key"}, ids(acme, "/v1/api-keys"))
	for _, id := range []string{"root", "globex-key"} {
		acme.must(http.StatusNotFound, http.MethodGet, "/v1/api-keys/"+id, "")
		acme.must(http.StatusNotFound, http.MethodDelete, "/v1/api-keys/"+id, "")
		key, err := b.Runtime.Store().APIKey(t.Context(), id)
		require.NoError(t, err)
		require.Zero(t, key.RevokedAt)
	}
	require.Contains(t, acme.refused(http.StatusForbidden, http.MethodPost, "/v1/api-keys",
		`{"label":"x","role":"admin"}`), `"tenant":"acme"`)
	other := acme.must(http.StatusNotFound, http.MethodPost, "/v1/api-keys",
		`{"label":"x","role":"admin","tenant":"globex"}`)
	none := acme.must(http.StatusNotFound, http.MethodPost, "/v1/api-keys",
		`{"label":"x","role":"admin","tenant":"nobody"}`)
	require.Equal(t, strings.ReplaceAll(none.body, "nobody", "globex"), other.body, "but for the name that was sent")
	acme.must(http.StatusCreated, http.MethodPost, "/v1/api-keys", `{"label":"x","role":"admin","tenant":"acme"}`)
}
