package manageapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"

	_ "github.com/hiregate/hiregate/modules" // registers the app
	"github.com/hiregate/hiregate/modules/app"
)

// The Caddyfile and the API refuse the same settings with the same sentence.
func TestBothDoorsHaveTheSameRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AllowLoopback(b.t)
	b.initech()
	rate := func(perSecond float64, burst int) *app.Rate {
		return &app.Rate{PerSecond: perSecond, Burst: burst}
	}
	secrets := strings.Split(strings.Repeat("s,", 10)+"s", ",")
	for _, test := range []struct {
		tenant app.Tenant
		want   string
	}{
		{app.Tenant{Rate: rate(10, 2_000_000)}, "a rate is how many"},
		{app.Tenant{Rate: rate(2_000_000, 1)}, "a rate is how many"},
		{app.Tenant{Rate: rate(10, 0)}, "a rate is how many"},
		{app.Tenant{Rate: rate(-1, 1)}, "a rate is how many"},
		{app.Tenant{Invalid: "accept"}, "write refuse or quarantine"},
		{app.Tenant{Secrets: secrets}, "more than 10 secrets"},
		{app.Tenant{Secrets: []string{strings.Repeat("s", 4097)}}, "longer than 4096 bytes"},
	} {
		in := map[string]any{"invalid": test.tenant.Invalid}
		if r := test.tenant.Rate; r != nil {
			in["rate"] = map[string]any{"perSecond": r.PerSecond, "burst": r.Burst}
		}
		if test.tenant.Secrets == nil {
			test.tenant.Secrets = []string{"s"}
		}
		in["secrets"] = test.tenant.Secrets
		b.refusedAtBothDoors(test.tenant, http.MethodPut, "/v1/tenants/initech", in, test.want)
	}
	for _, test := range []struct {
		change func(*app.Integration)
		want   string
	}{
		{func(i *app.Integration) { i.Name = "HRIS" }, "use 1 to 63"},
		{func(i *app.Integration) { i.URL += strings.Repeat("x", 2<<10) }, "longer than 2 KiB"},
		{func(i *app.Integration) { i.URL = "https://hr.example.com/" }, "no identifier"},
		{func(i *app.Integration) { i.Secret = strings.Repeat("s", 4097) }, "longer than 4096 bytes"},
		{func(i *app.Integration) { i.Secret, i.StandardWebhooks = "whsec_?", true }, "standard base64"},
		{func(i *app.Integration) { i.Documents = "attach" }, "document mode"},
		{func(i *app.Integration) { i.InFlight = -1 }, "from 1 to 1000"},
		{func(i *app.Integration) { i.InFlight = 1001 }, "from 1 to 1000"},
		{func(i *app.Integration) { i.Rate = rate(10, 0) }, "a rate is how many"},
		{func(i *app.Integration) { i.Retry = []string{"never"} }, "not a duration"},
	} {
		i := app.Integration{Name: "hris", URL: "https://hr.example.com/acme", Secret: "s"}
		test.change(&i)
		in := map[string]any{
			"name": i.Name, "url": i.URL, "secret": i.Secret, "documents": i.Documents, "inFlight": i.InFlight,
			"retry": i.Retry, "standardWebhooks": i.StandardWebhooks,
		}
		if r := i.Rate; r != nil {
			in["rate"] = map[string]any{"perSecond": r.PerSecond, "burst": r.Burst}
		}
		b.refusedAtBothDoors(app.Tenant{Secrets: []string{"s"}, Integrations: []app.Integration{i}}, http.MethodPost,
			"/v1/tenants/initech/integrations", in, test.want)
	}
}

// refusedAtBothDoors gives a tenant to a configuration of Caddy, and what stands for it to the API.
func (b *fixture) refusedAtBothDoors(tenant app.Tenant, method, path string, in any, want string) {
	b.t.Helper()
	tenant.Name = "initech"
	app, err := json.Marshal(app.App{Dev: true, PublicURL: "https://gate.example.com",
		Database:  "sqlite:///nowhere/hiregate.db",
		Documents: "file:///nowhere/documents", Tenants: []app.Tenant{tenant}})
	require.NoError(b.t, err)
	err = caddy.Validate(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true},
		AppsRaw: caddy.ModuleMap{"hiregate": app}})
	require.ErrorContains(b.t, err, want)
	body, err := json.Marshal(in)
	require.NoError(b.t, err)
	require.Contains(b.t, b.problem(method, path, string(body), http.StatusUnprocessableEntity), want, fmt.Sprint(in))
}
