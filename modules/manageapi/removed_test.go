package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// The exports of a tenant that was removed, or taken out of the Caddyfile, can be read and nothing else.
func TestExportsOfARemovedTenant(t *testing.T) {
	t.Parallel()
	onEach(t, testExportsOfARemovedTenant)
}

func testExportsOfARemovedTenant(t *testing.T, b *fixture) {
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{}`)
	b.delivery(b.export("initech", "u-1"), "hris", model.Delivered, 200)
	waiting := b.export("globex", "u-2")
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(waiting.ID, 0, time.Time{}) })
	keyed := b.keyed()
	globex := keyed.as(keyed.key("globex-key", "globex", model.Viewer))
	b.must(http.StatusOK, http.MethodDelete, "/v1/tenants/initech", "")
	b.Reconfigure(func(c *config.Config) { delete(c.Tenants, "globex") })

	for _, path := range []string{"/v1/exports?outcome=delivered", "/v1/tenants/initech/exports",
		"/v1/tenants/initech/exports?integration=hris"} {
		require.Equal(t, []string{"initech/u-1"}, get[listed](b, path).ids(), path)
	}
	require.Empty(t, get[listed](b, "/v1/tenants/initech/exports?outcome=failed").ids())
	for _, path := range []string{"/v1/tenants/initech/exports/u-1", "/v1/tenants/globex/exports/u-2"} {
		require.Contains(t, b.must(http.StatusOK, http.MethodGet, path, "").body, `"tenantRemoved":true`)
	}
	b.export("acme", "u-3")
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/exports", "").body, "tenantRemoved")
	for path, want := range map[string]string{"/v1/tenants/initech/exports/u-2": "no tenant of that name",
		"/v1/tenants/nobody/exports": "no tenant of that name"} {
		require.Contains(t, b.problem(http.MethodGet, path, "", http.StatusNotFound), want)
	}
	for _, what := range []string{"redeliver", "release"} {
		require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/initech/exports/u-1/"+what, "", http.StatusNotFound),
			"no tenant of that name")
	}
	require.Equal(t, []string{"u-2"}, ids(globex, "/v1/exports"))
	globex.must(http.StatusOK, http.MethodGet, "/v1/tenants/globex/exports/u-2", "")
	globex.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/initech/exports", "")
	globex.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/initech/exports/u-1", "")

	out, _, err := b.cli("export", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^initech/u-1 .* hris delivered, the tenant is not configured$`, out)
	require.Regexp(t, `(?m)^globex/u-2 .* waits for its tenant, which is not configured$`, out)
	out, _, err = b.cli("export", "show", "globex/u-2")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^tenant +globex \(not configured\)$`, out)
	require.Regexp(t, `(?m)^state +waits for its tenant, which is not configured$`, out)
}
