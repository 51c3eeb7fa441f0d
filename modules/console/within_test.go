package console

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const regional, mixed, both = "regional@example.com", "mixed@example.com", "both@example.com"

// labelled is a fixture with roles at the tenants of the north: acme and initech. Globex is in the south.
func labelled(t *testing.T) *fixture {
	t.Helper()
	b := newFixture(t)
	north := model.Labels{"region": "north"}
	b.Console.Grants = append(b.Console.Grants,
		Grant{Role: "operator", Labels: north, Emails: []string{regional, mixed}},
		Grant{Role: "viewer", Emails: []string{mixed}},
		Grant{Role: "viewer", Labels: north, Emails: []string{both}},
		Grant{Role: recruiterRole, Tenant: "globex", Emails: []string{both}})
	b.label("acme", "north")
	b.label("globex", "south")
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertTenant(&model.Tenant{Name: "initech", Title: "Initech", Labels: north}, b.Clock.Now())
	})
	require.NoError(t, b.Runtime.Directory.Refresh(t.Context()))
	for n, tenant := range []string{"acme", "globex", "initech"} {
		b.export(tenant, uuid(n), model.Failed)
	}
	return b
}

// label gives a tenant of the Caddyfile the label of a region.
func (b *fixture) label(tenant, region string) {
	b.Reconfigure(func(c *config.Config) {
		changed := *c.Tenants[tenant]
		changed.Labels = model.Labels{"region": region}
		c.Tenants[tenant] = &changed
	})
	b.Console.Gateway = b.Fixture.Gateway // as a reload does
}

// Somebody with a role at the tenants with a label works in one of them at a time. The others are for them what any other
// tenant is for somebody of one tenant.
func TestRolesOfLabels(t *testing.T) {
	t.Parallel()
	b := labelled(t)
	to := func(path string) string {
		w := b.send(regional, http.MethodGet, path, nil)
		require.Equal(t, http.StatusSeeOther, w.Code, path)
		return w.Header().Get("Location")
	}
	require.Equal(t, "/console/in/acme", to("/"))
	require.Equal(t, "/console/in/acme/exports?outcome=failed", to("/exports?outcome=failed"))
	start := b.see(regional, "/in/acme", http.StatusOK)
	require.Contains(t, start, `href="/console/in/acme/exports"`)
	require.Contains(t, start, `href="/console/in/initech"`, "to choose")
	require.NotContains(t, start, "globex")
	b.see(regional, "/in/acme/", http.StatusOK)
	for n, tenant := range []string{"acme", "globex", "initech"} {
		if tenant == "globex" {
			continue
		}
		list := b.see(regional, "/in/"+tenant+"/exports", http.StatusOK)
		require.Contains(t, list, uuid(n))
		for other := range 3 {
			if other != n {
				require.NotContains(t, list, uuid(other), tenant)
			}
		}
		require.Contains(t, b.see(regional, exportPath(tenant, uuid(n)), http.StatusOK), `action="/console/in/`+tenant+exportPath(tenant, uuid(n))+`/body"`,
			"a link of a notification leads into the tenant")
		b.post(regional, exportPath(tenant, uuid(n))+"/body", nil, http.StatusOK)
	}
	tenants := b.see(regional, "/in/acme/tenants", http.StatusOK)
	require.Contains(t, tenants, `href="/console/tenants/initech"`)
	require.Contains(t, tenants, "Initech")
	require.NotContains(t, tenants, "globex")
	require.NotContains(t, b.see(regional, "/in/acme/tenants?label=tier=gold", http.StatusOK), "Initech")
	b.see(regional, "/in/acme/tenants?label=x", http.StatusBadRequest)

	for _, path := range []string{"/tenants/globex", "/exports?tenant=globex", exportPath("globex", uuid(1)), "/redeliveries?tenant=globex",
		"/tenants/nobody", "/exports?tenant=nobody"} {
		require.Equal(t, http.StatusNotFound, b.send(operator, http.MethodGet, path, nil).Code, "as for people of one tenant: %s", path)
		require.Equal(t, http.StatusNotFound, b.send(regional, http.MethodGet, path, nil).Code, path)
		require.Equal(t, http.StatusNotFound, b.send(regional, http.MethodGet, "/in/acme"+path, nil).Code, path)
	}
	for _, path := range []string{"/in/globex", "/in/globex/exports", "/in/nobody", "/in/acme/exports?tenant=initech", "/in/acme/tenants/initech"} {
		require.Equal(t, http.StatusNotFound, b.send(regional, http.MethodGet, path, nil).Code, path)
	}
	b.see(regional, "/in/acme/people", http.StatusForbidden)
	b.see(regional, "/in/acme/connect", http.StatusForbidden)
	b.post(regional, "/find", url.Values{"q": {"acme"}}, http.StatusNotFound)
	require.Equal(t, "/console/in/acme"+exportPath("acme", uuid(0)),
		b.send(regional, http.MethodPost, "/in/acme/find", url.Values{"q": {uuid(0)}}).Header().Get("Location"))
	b.post(regional, "/in/acme/find", url.Values{"q": {uuid(1)}}, http.StatusNotFound)
	b.post(regional, "/in/acme"+exportPath("globex", uuid(1))+"/body", nil, http.StatusNotFound)
	b.post(regional, exportPath("globex", uuid(1))+"/body", nil, http.StatusNotFound)
	b.post(regional, "/in/acme/redeliveries", url.Values{"tenant": {"globex"}, "integration": {"hris"}, "mode": {"all"}, "since": {"2026-01-01T00:00"}}, http.StatusNotFound)

	b.label("acme", "south")
	require.Equal(t, http.StatusNotFound, b.send(regional, http.MethodGet, "/in/acme/exports", nil).Code, "it has lost the label")
	require.Equal(t, "/console/in/initech", to("/"))
	b.post(ops, "/tenants/initech/labels", nil, http.StatusSeeOther)
	require.Contains(t, b.see(regional, "/", http.StatusForbidden), "no client has it now")
}

// A line with labels comes on top of the first one without: at the tenants that have them, the stronger one holds.
func TestStrongerRoleOfLabels(t *testing.T) {
	t.Parallel()
	b := labelled(t)
	all := b.see(mixed, "/exports", http.StatusOK)
	for n := range 3 {
		require.Contains(t, all, uuid(n))
	}
	require.NotContains(t, all, `action="/console/exports/search"`, "a viewer")
	north := b.see(mixed, "/exports?tenant=acme", http.StatusOK)
	require.Contains(t, north, `action="/console/in/acme/exports/search"`)
	require.Contains(t, north, `<a href="/console/exports">All tenants</a>`)
	require.Contains(t, north, `href="/console/in/globex/exports"`)
	require.Contains(t, b.see(mixed, "/in/globex/exports", http.StatusOK), uuid(1))
	require.NotContains(t, b.see(mixed, "/in/globex/exports", http.StatusOK), "exports/search")
	b.post(mixed, exportPath("acme", uuid(0))+"/body", nil, http.StatusOK)
	for _, path := range []string{exportPath("globex", uuid(1)) + "/body", "/in/globex" + exportPath("globex", uuid(1)) + "/body", "/redeliveries"} {
		b.post(mixed, path, url.Values{"tenant": {"globex"}, "integration": {"hris"}, "mode": {"all"}}, http.StatusForbidden)
	}
	for _, path := range []string{"/redeliveries?tenant=acme", "/in/acme/redeliveries"} {
		b.post(mixed, path, url.Values{"tenant": {"globex"}, "integration": {"hris"}, "mode": {"all"}, "since": {"2026-01-01T00:00"}}, http.StatusNotFound)
	}

	require.Equal(t, "/console/candidates", b.send(both, http.MethodGet, "/", nil).Header().Get("Location"), "at globex, as before")
	require.Contains(t, b.see(both, "/exports", http.StatusOK), uuid(1))
	require.NotContains(t, b.see(both, "/exports", http.StatusOK), uuid(0))
	require.Contains(t, b.see(both, "/in/acme/exports", http.StatusOK), uuid(0))
	b.see(both, "/in/acme/candidates", http.StatusForbidden)
	b.see(both, "/candidates?tenant=acme", http.StatusForbidden)
	b.see(both, "/in/globex/candidates", http.StatusOK)
}
