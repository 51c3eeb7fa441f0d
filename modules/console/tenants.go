package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
)

// listTenants shows the tenants that the visitor sees.
func listTenants(v *visitor) (err error) {
	var shown struct {
		api.List[api.Tenant]
		More string
	}
	if shown.More, err = pageOf(v, "/v1/tenants", url.Values{}, &shown.List); err != nil {
		return err
	}
	return v.page(http.StatusOK, "tenants", "Tenants", &shown)
}

// showTenant shows a tenant and how its integrations do.
func showTenant(v *visitor) error {
	var shown struct {
		Tenant       api.Tenant
		Integrations []api.IntegrationHealth
		Signatures   *api.Signatures // nil: the visitor came by a link
		Requests     api.ReceivedCounts
	}
	if err := v.get(at("tenants", v.PathValue("tenant")), nil, &shown.Tenant); err != nil {
		return err
	}
	for _, name := range shown.Tenant.Integrations {
		var h api.IntegrationHealth
		if err := v.get(at("tenants", shown.Tenant.ID, "integrations", name, "health"), nil, &h); err != nil {
			return err
		}
		shown.Integrations = append(shown.Integrations, h)
	}
	if v.duties&oversees != 0 {
		if err := v.get(at("tenants", shown.Tenant.ID, "signatures"), nil, &shown.Signatures); err != nil {
			return err
		}
		if err := v.get(at("tenants", shown.Tenant.ID, "received"), nil, &shown.Requests); err != nil {
			return err
		}
	}
	return v.page(http.StatusOK, "tenant", "Tenant", &shown)
}

// integrationsOf is a tenant with all of its integrations.
type integrationsOf struct {
	ID           string
	Integrations []api.StatusIntegration
}

// listIntegrations shows how all integrations do, by tenant.
func listIntegrations(v *visitor) error {
	var all api.GatewayStatus
	if err := v.get("/v1/status", url.Values{"hours": {"24"}}, &all); err != nil {
		return err
	}
	shown := struct {
		Tenants []integrationsOf
		Omitted int
	}{Omitted: all.Omitted}
	if only := v.URL.Query().Get("tenant"); only != "" {
		all.Integrations = slices.DeleteFunc(all.Integrations, func(one api.StatusIntegration) bool {
			return one.Tenant != only
		})
	}
	slices.SortFunc(all.Integrations, func(a, b api.StatusIntegration) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	for _, one := range all.Integrations {
		if n := len(shown.Tenants); n == 0 || shown.Tenants[n-1].ID != one.Tenant {
			shown.Tenants = append(shown.Tenants, integrationsOf{ID: one.Tenant})
		}
		last := &shown.Tenants[len(shown.Tenants)-1]
		last.Integrations = append(last.Integrations, one)
	}
	return v.page(http.StatusOK, "integrations", "Integrations", &shown)
}

// integrationPage is the template data of an integration, with the test export that was just sent.
type integrationPage struct {
	api.IntegrationHours
	Retry  api.Retry
	Charts []bars
	Trial  *api.Trial // nil: none was just sent
}

// showIntegration shows how an integration does.
func showIntegration(v *visitor) error { return v.integration(http.StatusOK, nil) }

func (v *visitor) integration(status int, sent *api.Trial) error {
	shown := integrationPage{Trial: sent}
	of, name := v.PathValue("tenant"), v.PathValue("name")
	if err := v.get(at("tenants", of, "integrations", name, "retry"), nil, &shown.Retry); err != nil {
		return err
	}
	path := at("tenants", of, "integrations", name, "health")
	week := v.console.Gateway.Now().Add(-7 * 24 * time.Hour).UTC().Format(time.RFC3339)
	if err := v.get(path, url.Values{"since": {week}}, &shown.IntegrationHours); err != nil {
		return err
	}
	now := v.console.Gateway.Now()
	shown.Charts = []bars{chartOf("Day", shown.Hours, now, 24, time.Hour),
		chartOf("Week", shown.Hours, now, 7*8, 3*time.Hour)}
	return v.page(status, "integration", "Integration", &shown)
}

// actOnIntegration enables or disables an integration, or has attempted what waits for it.
func actOnIntegration(action string) handler {
	return func(v *visitor) error {
		var body any
		if reason := v.PostFormValue("reason"); action == "disable" && reason != "" {
			body = api.DisableInput{Reason: reason}
		}
		of, name := v.PathValue("tenant"), v.PathValue("name")
		if err := v.post(at("tenants", of, "integrations", name, action), body, nil); err != nil {
			return err
		}
		return v.redirect(pathOf("tenants", of, "integrations", name) + "?done=" + action)
	}
}

// testIntegration sends a test export, and shows what came of it.
func testIntegration(v *visitor) error {
	var sent api.Trial
	path := at("tenants", v.PathValue("tenant"), "integrations", v.PathValue("name"), "test")
	if err := v.post(path, nil, &sent); err != nil {
		return err
	}
	return v.integration(http.StatusOK, &sent)
}

// bars holds the attempts of some time, with a bar for each part of it.
type bars struct {
	Of                  string // Day or Week: the end of the keys of its texts
	Attempts, Delivered int64
	Most                int64 // attempts of a bar
	Bars                []bar
}

// bar is drawn from the bottom: the delivered attempts, and on top of them the others. Lengths are in percent.
type bar struct {
	X                  int
	Delivered, Failed  float64
	Begin              time.Time
	Attempts, Received int64
}

func chartOf(of string, hours []api.Hour, now time.Time, count int, each time.Duration) bars {
	end := now.UTC().Truncate(each).Add(each)
	c := bars{Of: of, Bars: make([]bar, count)}
	for n := range c.Bars {
		c.Bars[n].X, c.Bars[n].Begin = n, end.Add(time.Duration(n-count)*each)
	}
	for _, h := range hours {
		n := count - 1 - int(end.Add(-time.Nanosecond).Sub(h.Begin)/each)
		if n >= 0 && n < count {
			c.Attempts += h.Attempts
			c.Delivered += h.Delivered
			c.Bars[n].Attempts += h.Attempts
			c.Bars[n].Received += h.Delivered
			c.Most = max(c.Most, c.Bars[n].Attempts)
		}
	}
	for n := range c.Bars {
		if b := &c.Bars[n]; b.Attempts > 0 {
			b.Delivered = float64(b.Received) / float64(c.Most) * 100
			b.Failed = float64(b.Attempts-b.Received) / float64(c.Most) * 100
		}
	}
	return c
}

// Lost returns the number of attempts that were not delivered.
func (b bar) Lost() int64 { return b.Attempts - b.Received }

// Top returns where a bar begins, from the top.
func (b bar) Top() float64 { return 100 - b.Delivered - b.Failed }

// Middle returns where the delivered attempts begin, from the top.
func (b bar) Middle() float64 { return 100 - b.Delivered }
