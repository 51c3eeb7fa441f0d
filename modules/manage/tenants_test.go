package manage_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestTenantsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech","secrets":["one","two"],"invalid":"quarantine","rate":{"perSecond":5,"burst":10}}`)
	require.Equal(t, "/v1/tenants/initech", a.header.Get("Location"))
	require.JSONEq(t, `{"id":"initech","name":"Initech","declared":false,"secrets":2,"invalid":"quarantine","rate":{"perSecond":5,"burst":10},"integrations":[],"version":1,
		"createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}`, a.body)
	kept, ok := b.Config.Tenant("initech")
	require.True(t, ok, "it is not known at once")
	require.Equal(t, []hiring.Secret{"one", "two"}, kept.Secrets)
	require.True(t, kept.Quarantine)
	require.Equal(t, a.body, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "").body)

	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech Inc."}`)
	kept, _ = b.Config.Tenant("initech")
	require.Equal(t, []hiring.Secret{"one", "two"}, kept.Secrets, "those that are left out stay")
	require.Nil(t, kept.Rate)
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"secrets":[]}`)
	kept, _ = b.Config.Tenant("initech")
	require.Empty(t, kept.Secrets)

	b.must(http.StatusNoContent, http.MethodDelete, "/v1/tenants/initech", "")
	b.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/initech", "")
	b.requireCleanLog()
}

// A key of a tenant must not open another one that gets its name later.
func TestKeysEndWithTheirTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.keyed().as(b.key("k-1", "initech", hiring.Admin))
	k.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/initech", "")
	b.initech()
	k.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "")
	k.must(http.StatusNoContent, http.MethodDelete, "/v1/tenants/initech", "")
	b.initech()
	k.must(http.StatusUnauthorized, http.MethodGet, "/v1/tenants/initech", "")
}

func TestTenantsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string]string{"receipts": "receipts are served", "unknown": "the metrics count under that name", "ACME": "use 1 to 63", "a_b": "use 1 to 63"} {
		require.Contains(t, b.problem(http.MethodPut, "/v1/tenants/"+path, "{}", http.StatusUnprocessableEntity), want)
	}
	for body, want := range map[string]string{
		`{"invalid":"accept"}`:                                        "refuse or quarantine",
		`{"secrets":[""]}`:                                            "a secret is empty",
		`{"rate":{"perSecond":0,"burst":1}}`:                          "each above 0",
		`{"rate":{"perSecond":1,"burst":0}}`:                          "each above 0",
		`{"name":"a\u0000"}`:                                          "U+0000",
		`{"secrets":["1","2","3","4","5","6","7","8","9","10","11"]}`: "more than 10 secrets",
	} {
		require.Contains(t, b.problem(http.MethodPut, "/v1/tenants/initech", body, http.StatusUnprocessableEntity), want)
	}
}
