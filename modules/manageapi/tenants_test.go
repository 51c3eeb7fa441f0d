package manageapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestTenantsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech",
		`{"name":"Initech","secrets":["one-and-sixteen-bytes","two-and-sixteen-bytes"],"invalid":"quarantine","deviations":"refuse",
			"rate":{"perSecond":5,"burst":10}}`)
	require.Equal(t, "/v1/tenants/initech", a.header.Get("Location"))
	require.JSONEq(t, `{"id":"initech","name":"Initech","declared":false,"secrets":2,"invalid":"quarantine","deviations":"refuse","rate":{"perSecond":5,"burst":10},"integrations":[],"version":1,
		"createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}`, a.body)
	kept, ok := b.Config.Tenant("initech")
	require.True(t, ok, "it is not known at once")
	require.Equal(t, []model.Secret{"one-and-sixteen-bytes", "two-and-sixteen-bytes"}, kept.Secrets)
	require.True(t, kept.Quarantine)
	require.Equal(t, model.RefuseDeviations, kept.Deviations)
	require.Equal(t, a.body, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "").body)

	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech Inc."}`)
	kept, _ = b.Config.Tenant("initech")
	require.Equal(t, []model.Secret{"one-and-sixteen-bytes", "two-and-sixteen-bytes"}, kept.Secrets, "those that are left out stay")
	require.Nil(t, kept.Rate)
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"secrets":[]}`)
	kept, _ = b.Config.Tenant("initech")
	require.Empty(t, kept.Secrets)

	b.must(http.StatusOK, http.MethodDelete, "/v1/tenants/initech", "")
	b.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/initech", "")
	b.requireCleanLog()
}

// The zone of a tenant is that of its days, and has to be one. A PUT without it makes it UTC.
func TestTenantsHaveAZone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/initech", `{"zone":"Mars/Phobos"}`)
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"zone":"Pacific/Kiritimati"}`)
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "").body, `"zone":"Pacific/Kiritimati"`)
	kept, _ := b.Config.Tenant("initech")
	require.Equal(t, "Pacific/Kiritimati", kept.Zone)
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{}`)
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "").body, "zone")
}

// A key of a tenant must not open another one that gets its name later.
func TestKeysEndWithTheirTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	k := b.keyed().as(b.key("k-1", "initech", model.Admin))
	k.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "")
	k.must(http.StatusOK, http.MethodDelete, "/v1/tenants/initech", "")
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"restore":true}`)
	k.must(http.StatusUnauthorized, http.MethodGet, "/v1/tenants/initech", "")
}

// What a tenant leaves behind does not go to the next one of its name.
func TestANameIsNotHandedOn(t *testing.T) {
	t.Parallel()
	onEach(t, testANameIsNotHandedOn)
}

func testANameIsNotHandedOn(t *testing.T, b *fixture) {
	const initech = "/v1/tenants/initech"
	b.initech()
	b.must(http.StatusCreated, http.MethodPut, initech+"/candidates/c-1", `{"name":{"given":"Zoë"}}`)
	b.must(http.StatusCreated, http.MethodPut, initech+"/jobs/NURSE-1", `{"id":"job-1"}`)
	b.export("initech", "u-1")
	b.must(http.StatusCreated, http.MethodPost, initech+"/api-users", `{"userName":"partner@example.com"}`)
	k := b.keyed().as(b.key("k-1", "initech", model.Viewer))
	require.JSONEq(t, `{"kept":["exports","candidates","jobs","API keys"]}`,
		b.must(http.StatusOK, http.MethodDelete, initech, "").body)

	require.Equal(t, "a tenant of this name was removed, and of it are kept: exports, candidates, jobs, API keys. "+
		"Choose another name, or bring that tenant back with all of it: "+
		`send "restore":true (hiregate tenant set --restore)`, b.refused(http.StatusConflict, http.MethodPut, initech, `{}`))
	_, _, err := b.cli("tenant", "set", "initech")
	require.ErrorContains(t, err, "a tenant of this name was removed")
	b.must(http.StatusNotFound, http.MethodGet, initech, "")

	_, _, err = b.cli("tenant", "set", "initech", "--restore")
	require.NoError(t, err)
	require.Equal(t, []string{"c-1"}, ids(b, initech+"/candidates"))
	require.Empty(t, ids(b, initech+"/api-users"))
	k.must(http.StatusUnauthorized, http.MethodGet, initech, "")
	out, _, err := b.cli("tenant", "remove", "initech")
	require.NoError(t, err)
	require.Equal(t, "tenant initech is removed\nkept under its name, which no other tenant gets: exports, "+
		"candidates, jobs, API keys\n", out)

	b.key("k-2", "globex", model.Admin) // good as long as the tenant is not removed
	b.Reconfigure(func(c *config.Config) { delete(c.Tenants, "globex") })
	require.Contains(t, b.refused(http.StatusConflict, http.MethodPut, "/v1/tenants/globex", `{}`),
		"of it are kept: API keys.")

	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/hooli", `{}`)
	require.JSONEq(t, `{"kept":[]}`, b.must(http.StatusOK, http.MethodDelete, "/v1/tenants/hooli", "").body)
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/hooli", `{}`)
}

func TestTenantsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string]string{"receipts": "receipts are served",
		"unknown": "the metrics count under that name", "ACME": "use 1 to 63", "a_b": "use 1 to 63"} {
		require.Contains(t, b.problem(http.MethodPut, "/v1/tenants/"+path, "{}", http.StatusUnprocessableEntity), want)
	}
	for body, want := range map[string]string{
		`{"invalid":"accept"}`:                                        "refuse or quarantine",
		`{"secrets":["fifteen-bytes.."]}`:                             "a secret is shorter than 16 bytes",
		`{"secrets":[""]}`:                                            "a secret is empty",
		`{"rate":{"perSecond":0,"burst":1}}`:                          "use numbers above 0",
		`{"rate":{"perSecond":1,"burst":0}}`:                          "use numbers above 0",
		`{"name":"a\u0000"}`:                                          "U+0000",
		`{"secrets":["1","2","3","4","5","6","7","8","9","10","11"]}`: "more than 10 secrets",
	} {
		require.Contains(t, b.problem(http.MethodPut, "/v1/tenants/initech", body, http.StatusUnprocessableEntity), want)
	}
}

// A short secret that is stored already stays, beside a new one.
func TestShortSecretsThatAreThereStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertTenant(&model.Tenant{Name: "initech", Secrets: []model.Secret{"short"}}, b.Clock.Now())
	})
	require.NoError(t, b.Runtime.Directory.Refresh(t.Context()))
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"secrets":["short","new-and-sixteen-bytes"]}`)
	require.Contains(t, b.problem(http.MethodPut, "/v1/tenants/initech", `{"secrets":["brief"]}`, http.StatusUnprocessableEntity),
		"shorter than 16 bytes")
}
