package manageapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func integrationOf(i *model.Integration, s store.IntegrationStatus) api.Integration {
	switch {
	case !i.Verify && s.State == model.NotConfigured:
		s.State, s.Reason = model.Configured, "verify off: it is trusted without VERIFY"
	case s.ByFormer:
		s.State = model.Configured
		s.Reason = "exports are signed with its former secret until VERIFY is answered 200 with the new one: " +
			s.Reason
	}
	shown := api.Integration{
		ID: i.Name, Tenant: i.Tenant, Name: i.Name, State: s.State, Reason: s.Reason,
		Why: model.ParseReason(s.Reason), Attempts: s.Attempts, UpdatedAt: s.UpdatedAt, URL: model.URLOrigin(i.URL),
		Options: i.WithDefaults(), Rotating: i.FormerSecret != "", RotatedAt: i.RotatedAt,
		Authentication: authenticationSet(i.Authentication),
		Declared:       i.Row.Version == 0, Version: i.Row.Version,
	}
	switch {
	case s.ByOperator:
		shown.DisabledBy = "operator"
	case s.State == model.Disabled:
		shown.DisabledBy = "partner"
	}
	return shown
}

// authenticationSet returns what may be seen of an integration's credentials; nil: there are none.
func authenticationSet(a *model.Authentication) *api.AuthenticationSet {
	if a.Empty() {
		return nil
	}
	shown := &api.AuthenticationSet{CertificateEndsAt: a.CertificateEnd(), CA: a.TLS != nil && a.TLS.CA != ""}
	for _, h := range a.Headers {
		shown.Headers = append(shown.Headers, h.Name)
	}
	switch {
	case a.Basic != nil:
		shown.Scheme = "basic"
	case a.Bearer != "":
		shown.Scheme = "bearer"
	case a.OAuth2 != nil:
		shown.Scheme, shown.TokenURL = "oauth2", model.URLOrigin(a.OAuth2.TokenURL)
	}
	return shown
}

// integrations serves the integrations of a tenant, by name; allIntegrations serves those of all tenants that the
// caller sees.
var (
	integrations = rest.Resource[*placed]{
		Path: rest.InTenant + "/integrations", ID: "name", Kind: "integration", Reader: model.Viewer, Writer: model.Admin,
		List: func(r *rest.Request) ([]*placed, string, error) { return integrationsOf(r, []*model.Tenant{r.Tenant}) },
		Find: findPlaced, View: placedView, Tag: func(p *placed) string { return integrationTag(p.Integration, p.status) },
		Add: addIntegration, Repeat: integrationAddedBefore, Put: putIntegration,
	}
	allIntegrations = rest.Resource[*placed]{
		Path: "/v1/integrations", Kind: "integration", Reader: model.Viewer, View: placedView, Filters: []string{"label"},
		List: func(r *rest.Request) ([]*placed, string, error) {
			labelled, err := labelledTenants(r)
			if err != nil {
				return nil, "", err
			}
			return integrationsOf(r, labelled)
		},
	}
)

// placed is an integration with its status.
type placed struct {
	*model.Integration
	status  store.IntegrationStatus
	sharing []string
	health  *api.IntegrationHealth // of one in a list
}

func placedView(p *placed) any {
	if p.health != nil {
		return p.health
	}
	shown := integrationOf(p.Integration, p.status)
	shown.SameURL = p.sharing
	return shown
}

func integrationsOf(r *rest.Request, tenants []*model.Tenant) ([]*placed, string, error) {
	standings, err := standingsOf(r, tenants)
	if err != nil {
		return nil, "", err
	}
	var all []*placed
	for _, s := range standings {
		if !s.Unknown() {
			shown := healthOf(s, r.Now())
			all = append(all, &placed{Integration: s.Integration, status: s.Status, health: &shown})
		}
	}
	// A space sorts before all that names are made of: acme before acme-east.
	key := func(p *placed) string { return p.Tenant + " " + p.Name }
	rows, next := rest.PageOf(r.Page, all, key)
	rated := make([]*api.IntegrationHealth, len(rows))
	for n, p := range rows {
		rated[n] = p.health
	}
	return rows, next, addRates(r, r.Now(), rated...)
}

// findIntegration returns the integration that the path names.
func findIntegration(r *rest.Request) (*model.Integration, error) {
	i, ok := r.Tenant.Integration(r.PathValue("name"))
	if !ok {
		return nil, noIntegration
	}
	return i, nil
}

var noIntegration = problem.New(http.StatusNotFound, "this tenant has no integration of that name")

func findPlaced(r *rest.Request) (*placed, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	status, err := r.DB.IntegrationStatus(r.Context(), i)
	return &placed{Integration: i, status: status, sharing: sharing(r, i)}, err
}

// maxSharing is how many integrations of one URL are named.
const maxSharing = 10

// sharing names the other integrations that the caller sees and that have the URL of an integration.
func sharing(r *rest.Request, i *model.Integration) (names []string) {
	if i.Damaged { // its URL is not known
		return nil
	}
	for _, t := range visibleTenants(r) {
		for _, other := range t.Integrations {
			here := t.Name == i.Tenant && other.Name == i.Name
			if other.URL == i.URL && !other.Damaged && !here && len(names) < maxSharing {
				names = append(names, t.Name+"/"+other.Name)
			}
		}
	}
	return names
}

// shownIntegration answers an integration with its status and its entity tag.
func shownIntegration(r *rest.Request, i *model.Integration) (any, error) {
	status, err := r.DB.IntegrationStatus(r.Context(), i)
	if err != nil {
		return nil, err
	}
	r.ETag = integrationTag(i, status)
	return placedView(&placed{Integration: i, status: status, sharing: sharing(r, i)}), nil
}

func integrationTag(i *model.Integration, s store.IntegrationStatus) string {
	return rest.Tag(&i.Row, string(s.State), s.Reason, strconv.Itoa(s.Attempts), s.UpdatedAt.String())
}

// enable has an integration verified now, so that its held exports go out.
func enable(r *rest.Request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	if err := r.AuditAlone(); err != nil { // what follows is no single transaction
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), rest.Patience)
	defer cancel()
	status, err := r.Gateway.Runtime.Enable(ctx, i)
	switch {
	case err == nil:
		return integrationOf(i, status), nil
	case errors.Is(err, store.ErrNotFound):
		return nil, noIntegration
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	}
	return nil, r.NoTemporal(err, "the integration is not disabled any more, and Temporal, which has it verified, "+
		"does not answer: VERIFY is sent once that is back")
}
