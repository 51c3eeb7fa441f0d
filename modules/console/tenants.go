package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// listTenants shows the tenants that the visitor sees.
func listTenants(v *visitor) (err error) {
	var shown struct {
		api.List[api.Tenant]
		More string
	}
	query := url.Values{}
	if label := v.URL.Query().Get("label"); label != "" {
		query.Set("label", label)
	}
	if v.chooses() && v.person.Tenant != "" {
		shown.More, err = v.tenantsWithin(&shown.List)
	} else {
		shown.More, err = pageOf(v, "/v1/tenants", query, &shown.List, "label")
	}
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "tenants", "Tenants", &shown)
}

// tenantPage is the template data of a tenant.
type tenantPage struct {
	Tenant       api.Tenant
	Version      string
	Integrations []api.IntegrationHealth
	Signatures   *api.Signatures // nil: the visitor came by a link
	Requests     api.ReceivedCounts
	Relay        *api.ApplyUpstream // nil: its applications are not relayed, or the visitor came by a link
	// of systems of the service's own; nil: the visitor does not administer them
	Subscriptions []api.EventSubscription
	Keys          []api.APIKey // that open it alone and are valid; nil as before
	People        []Grant      // who has a role there, as the Caddyfile says; nil as before
	Secret        string       // that was just made; empty: none was
	Wrong         *failure     // why a secret was not added or changed
	NewKey        keyForm
	Links         []api.PortalLink // of the client's people that are valid; nil: the visitor makes none
}

// Editable reports whether the visitor may change the tenant itself.
func (p view) Editable(t *tenantPage) bool { return p.May.Administer && !t.Tenant.Declared }

// showTenant shows a tenant and how its integrations do.
func showTenant(v *visitor) error { return v.tenantPage(http.StatusOK, tenantPage{}) }

func (v *visitor) tenantPage(status int, shown tenantPage) error {
	if err := v.get(at("tenants", v.PathValue("tenant")), nil, &shown.Tenant); err != nil {
		return err
	}
	shown.Version = v.etag
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
		var err error
		if shown.Relay, err = v.relayOf(shown.Tenant.ID); err != nil {
			return err
		}
	}
	if v.duties&operates != 0 {
		var links api.List[api.PortalLink]
		if err := v.get(at("tenants", shown.Tenant.ID, "portals"), url.Values{"limit": {mostOfEach}}, &links); err != nil {
			return err
		}
		shown.Links = links.Items
	}
	if v.duties&administers != 0 {
		var err error
		if shown.Subscriptions, err = v.subscriptionsOf(shown.Tenant.ID); err != nil {
			return err
		}
		var keys api.List[api.APIKey]
		if err := v.get("/v1/api-keys", url.Values{"tenant": {shown.Tenant.ID}, "limit": {mostOfEach}}, &keys); err != nil {
			return err
		}
		shown.Keys = slices.DeleteFunc(keys.Items, func(k api.APIKey) bool { return !k.RevokedAt.IsZero() })
		for _, g := range v.console.Grants {
			if g.Tenant == shown.Tenant.ID ||
				g.Tenant == "" && v.person.Tenant == "" && model.Labels(shown.Tenant.Labels).Has(g.Labels) {
				shown.People = append(shown.People, g)
			}
		}
	}
	return v.page(status, "tenant", "Tenant", &shown)
}

// addSecret gives the tenant another inbound secret, and shows one that was made, once.
func addSecret(v *visitor) error {
	var made api.TenantSecret
	in := api.TenantSecretInput{Secret: strings.TrimSpace(v.PostForm.Get("secret"))}
	wrong, err := refusal(v.post(at("tenants", v.PathValue("tenant"), "secrets"), in, &made))
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return v.tenantPage(wrong.status, tenantPage{Wrong: wrong})
	case made.Secret == "":
		return v.toTenant("secret-added")
	}
	return v.tenantPage(http.StatusOK, tenantPage{Secret: made.Secret})
}

// endSecret ends an inbound secret, once the service signs with another one: now, or at the time that the form names.
func endSecret(v *visitor) error {
	text := v.PostForm.Get("at")
	if text == "" {
		return v.onSecret(http.MethodDelete, nil, "secret-ended")
	}
	end, err := time.Parse(fieldTime, text)
	if err != nil {
		return &failure{status: http.StatusUnprocessableEntity, Text: "SecretEndWrong"}
	}
	return v.onSecret(http.MethodPut, api.TenantSecretEnd{EndsAt: end}, "secret-ends")
}

// keepSecret has an inbound secret go on that was to end.
func keepSecret(v *visitor) error {
	return v.onSecret(http.MethodPut, api.TenantSecretEnd{}, "secret-kept")
}

// onSecret changes the inbound secret that the path names.
func (v *visitor) onSecret(method string, in any, done string) error {
	path := at("tenants", v.PathValue("tenant"), "secrets", v.PathValue("number"))
	wrong, err := refusal(v.call(method, path, nil, in, nil))
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return v.tenantPage(wrong.status, tenantPage{Wrong: wrong})
	}
	return v.toTenant(done)
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
	for _, name := range []string{"tenant", "from", "label"} {
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
		for _, name := range []string{"tenant", "label"} {
			if value := query.Get(name); value != "" {
				shown.More.Set(name, value)
			}
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
