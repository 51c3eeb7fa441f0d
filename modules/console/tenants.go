package console

import (
	"net/http"
	"net/url"
	"strconv"

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
		// of systems of the service's own; nil: the visitor does not administer them
		Subscriptions []api.EventSubscription
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
	if v.duties&administers != 0 {
		var err error
		if shown.Subscriptions, err = v.subscriptionsOf(shown.Tenant.ID); err != nil {
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

// integrationsOfPage is the number of integrations on a page of all.
const integrationsOfPage = "50"

// listIntegrations shows how all integrations do, by tenant.
func listIntegrations(v *visitor) error {
	query := url.Values{"hours": {"24"}, "limit": {integrationsOfPage}, "order": {"name"}}
	for _, name := range []string{"tenant", "from"} {
		if value := v.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	var all api.GatewayStatus
	if err := v.get("/v1/status", query, &all); err != nil {
		return err
	}
	shown := struct {
		Tenants []integrationsOf
		All     int
		More    url.Values // the query of the next page; nil: this is the last one
	}{All: all.AllIntegrations()}
	from, _ := strconv.Atoi(query.Get("from"))
	if last := from + len(all.Integrations); last < shown.All {
		shown.More = url.Values{"from": {strconv.Itoa(last)}}
		if of := query.Get("tenant"); of != "" {
			shown.More.Set("tenant", of)
		}
	}
	for _, one := range all.Integrations {
		if n := len(shown.Tenants); n == 0 || shown.Tenants[n-1].ID != one.Tenant {
			shown.Tenants = append(shown.Tenants, integrationsOf{ID: one.Tenant})
		}
		last := &shown.Tenants[len(shown.Tenants)-1]
		last.Integrations = append(last.Integrations, one)
	}
	return v.page(http.StatusOK, "integrations", "Integrations", &shown)
}
