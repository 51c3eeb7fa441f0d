package manageapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Exports are listed, counted and searched by a label of their tenant, each within what the caller sees.
func TestExportsByLabel(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.t = t
		b.Reconfigure(func(c *config.Config) {
			for name, region := range map[string]string{"acme": "north", "globex": "south"} {
				labelled := *c.Tenants[name]
				labelled.Labels = model.Labels{"region": region}
				c.Tenants[name] = &labelled
			}
		})
		b.delivery(b.export("acme", "u-1"), "hris", model.Failed, 500)
		b.delivery(b.export("globex", "u-2"), "hris", model.Failed, 500)
		b.delivery(b.export("acme", "u-3"), "hris", model.Delivered, 200)
		require.Equal(t, []string{"acme/u-3", "acme/u-1"}, get[listed](b, "/v1/exports?label=region=north").ids())
		require.Equal(t, []string{"globex/u-2"}, get[listed](b, "/v1/exports?label=region=south&outcome=failed").ids())
		require.Empty(t, get[listed](b, "/v1/exports?label=region=west").ids())
		counts := get[api.ExportCounts](b, "/v1/export-counts?label=region=north")
		require.EqualValues(t, []int64{2, 1, 1}, []int64{counts.All.Count, counts.Failed.Count, counts.Delivered.Count})
		b.must(http.StatusOK, http.MethodPost, "/v1/export-search?label=region=north", `{"text":"x"}`)
		for path, why := range map[string]string{
			"/v1/exports?label=region=north&uuid=6f1c0f1e":    "leave out label",
			"/v1/exports?label=Region":                        "is none",
			"/v1/exports?label=region=north&integration=hris": "names within a tenant",
			acme + "/exports?label=region=north":              "is unknown here",
		} {
			require.Contains(t, b.problem(http.MethodGet, path, "", http.StatusBadRequest), why)
		}
		out, _, err := b.cli("export", "list", "--label", "region=north")
		require.NoError(t, err)
		require.Contains(t, out, "acme/u-1")
		require.NotContains(t, out, "globex")
		_, _, err = b.cli("export", "list", "acme", "--label", "region=north")
		require.ErrorContains(t, err, "leave out --tenant")
	})
}

// Labels give people roles: who sees one tenant alone does not change them.
func TestLabelsAreNotForThoseOfOneTenant(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	all := b.key("k-1", "", model.Admin)
	b.as(all).must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"labels":{"region":"north"}}`)
	own := b.key("k-2", "initech", model.Admin)
	for _, labels := range []string{`{}`, `{"region":"south"}`, `{"region":"north","tier":"gold"}`} {
		require.Contains(t, b.as(own).problem(http.MethodPut, "/v1/tenants/initech", `{"labels":`+labels+`}`, http.StatusForbidden), "leave labels out")
	}
	for _, body := range []string{`{"name":"Initech"}`, `{"labels":{"region":"north"}}`} {
		b.as(own).must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", body)
		require.Equal(t, map[string]string{"region": "north"}, get[api.Tenant](b.as(all), "/v1/tenants/initech").Labels)
	}
}

// Tenants have labels, wherever they are kept, and lists are filtered by them. A change of something else leaves them.
func TestTenantsHaveLabels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(2)
	b.Reconfigure(func(c *config.Config) { c.Tenants["t-0001"].Labels = model.Labels{"region": "north"} })
	names := func(query string) (names []string) {
		for _, one := range get[api.List[api.Tenant]](b, "/v1/tenants"+query).Items {
			names = append(names, one.ID)
		}
		return names
	}
	b.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/initech", `{"labels":{"Region":"north"}}`)
	b.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/initech", `{"labels":{"region":"two words"}}`)
	_, _, err := b.cli("tenant", "set", "initech", "--no-secret", "--label", "region=north,tier=gold")
	require.NoError(t, err)
	_, _, err = b.cli("tenant", "set", "initech", "--name", "Initech")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"region": "north", "tier": "gold"}, get[api.Tenant](b, "/v1/tenants/initech").Labels)
	require.Equal(t, []string{"initech", "t-0001"}, names("?label=region=north"))
	require.Equal(t, []string{"initech"}, names("?label=tier=gold"))
	require.Empty(t, names("?label=region=south"))
	out, _, err := b.cli("tenant", "list", "--label", "tier=gold")
	require.NoError(t, err)
	require.Contains(t, out, "region=north tier=gold")
	require.NotContains(t, out, "t-0001")
	b.must(http.StatusBadRequest, http.MethodGet, "/v1/tenants?label=region", "")

	integrations := get[api.List[api.IntegrationHealth]](b, "/v1/integrations?label=region=north").Items
	require.Len(t, integrations, 1)
	require.Equal(t, "t-0001", integrations[0].Tenant)
	b.Write(t, func(tx *store.Tx) error {
		for id, tenant := range map[string]string{"j-1": "acme", "j-2": "t-0001"} {
			if err := tx.InsertRedelivery(&model.Redelivery{ID: id, Selection: model.Selection{Tenant: tenant, Integration: "hris",
				Since: b.Clock.Now(), Until: b.Clock.Now(), Mode: model.RedeliverAll}, State: model.RedeliveryFinished,
				CreatedAt: b.Clock.Now(), UpdatedAt: b.Clock.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	begun := get[api.List[api.Redelivery]](b, "/v1/redeliveries?label=region=north").Items
	require.Len(t, begun, 1)
	require.Equal(t, "j-2", begun[0].ID)
	for _, command := range [][]string{{"redelivery", "list"}, {"status"}, {"cause", "list"}} {
		out, _, err := b.cli(append(command, "--label", "region=north")...)
		require.NoError(t, err, "%s", command)
		require.NotContains(t, out, "acme", "%s", command)
	}
	status := get[api.GatewayStatus](b, "/v1/status?label=region=north")
	require.Len(t, status.Integrations, 1)
	for _, need := range status.Needs {
		require.Contains(t, []string{"", "t-0001"}, need.Tenant)
	}
	_, _, err = b.cli("tenant", "set", "initech", "--label", "")
	require.NoError(t, err)
	require.Empty(t, get[api.Tenant](b, "/v1/tenants/initech").Labels)
}
