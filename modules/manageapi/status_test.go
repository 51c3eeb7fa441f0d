package manageapi_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
)

// many adds tenants, each with an integration that was not verified yet, and needs a person.
func (b *fixture) many(tenants int) {
	b.Reconfigure(func(c *config.Config) {
		for n := range tenants {
			t := gatewaytest.Tenant(fmt.Sprintf("t-%04d", n))
			t.Integrations = []model.Integration{{Tenant: t.Name, Name: "hris", URL: "https://hr.example/" + t.Name, Secret: secretKey,
				Options: model.Options{Documents: model.Rehost}, Verify: true}}
			c.Tenants[t.Name] = t
		}
	})
}

// A status of many integrations has the worst ones, says how many it leaves out, and leads to all of them.
func TestStatusOfManyIntegrations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := get[api.GatewayStatus](b, "/v1/status")
	b.many(600)
	e := b.export("t-0300", "u-1")
	b.delivery(e, "hris", model.Held)
	first := get[api.GatewayStatus](b, "/v1/status")
	require.Len(t, first.Needs, 500)
	require.Len(t, first.Integrations, 500)
	require.Equal(t, before.AllNeeds()+600, first.AllNeeds())
	require.Equal(t, before.AllIntegrations()+600, first.AllIntegrations())
	require.Equal(t, "t-0300", first.Needs[0].Tenant, "exports wait for it")
	require.Equal(t, "t-0300", first.Integrations[0].Tenant)
	require.EqualValues(t, 1, first.NeedsOf["t-0599"])
	require.EqualValues(t, 1, first.Stuck)

	seen := map[string]bool{}
	for from, limit := 0, 250; ; from += limit {
		path := fmt.Sprintf("/v1/status?limit=%d", limit)
		if from > 0 {
			path += fmt.Sprintf("&from=%d", from)
		}
		page := get[api.GatewayStatus](b, path)
		require.Equal(t, first.AllNeeds(), page.AllNeeds())
		for n, need := range page.Needs {
			require.False(t, seen[need.Sentence], need.Sentence)
			seen[need.Sentence] = true
			if need.Integration != "" && n < len(page.Integrations) {
				require.Equal(t, need.Tenant, page.Integrations[n].Tenant, "the integrations are those that the needs concern")
			}
		}
		if len(page.Needs) < limit {
			break
		}
	}
	require.Len(t, seen, first.AllNeeds())

	named := get[api.GatewayStatus](b, "/v1/status?order=name&limit=2&from=100")
	require.Equal(t, "acme", get[api.GatewayStatus](b, "/v1/status?order=name&limit=1").Integrations[0].Tenant)
	require.Less(t, named.Integrations[0].Tenant, named.Integrations[1].Tenant)
	one := get[api.GatewayStatus](b, "/v1/status?tenant=t-0007")
	require.Len(t, one.Integrations, 1)
	require.Zero(t, one.OmittedNeeds)
	for _, need := range one.Needs {
		require.Equal(t, "t-0007", need.Tenant)
	}
	for _, query := range []string{"limit=501", "limit=0", "order=worst", "from=-1"} {
		b.must(400, "GET", "/v1/status?"+query, "")
	}
}
