package manageapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
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
		ID: i.Name, Tenant: i.Tenant, Name: i.Name, State: s.State, Reason: s.Reason, Attempts: s.Attempts,
		UpdatedAt: s.UpdatedAt, URL: origin(i.URL), Documents: i.Documents, Standard: i.StandardWebhooks,
		Rotating: i.FormerSecret != "",
		InFlight: cmp.Or(i.InFlight, model.DefaultInFlight),
		Declared: i.Row.Version == 0, Version: i.Row.Version,
	}
	switch {
	case s.ByOperator:
		shown.DisabledBy = "operator"
	case s.State == model.Disabled:
		shown.DisabledBy = "partner"
	}
	for _, gap := range i.Retry {
		shown.Retry = append(shown.Retry, gap.String())
	}
	return shown
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// integrations are a tenant's, by name; allIntegrations are those of all tenants that the caller sees.
var (
	integrations = resource[*placed]{
		path: inTenant + "/integrations", id: "name", kind: "integration", reader: model.Viewer, writer: model.Admin,
		list: func(r *request) ([]*placed, string, error) { return r.listIntegrations([]*model.Tenant{r.tenant}) },
		find: findPlaced, view: placedView, tag: func(p *placed) string { return integrationTag(p.Integration, p.status) },
		add: addIntegration, repeat: integrationAddedBefore, put: putIntegration, drop: deleteIntegration,
	}
	allIntegrations = resource[*placed]{
		path: "/v1/integrations", kind: "integration", reader: model.Viewer, view: placedView,
		list: func(r *request) ([]*placed, string, error) { return r.listIntegrations(r.tenants()) },
	}
)

// placed is an integration and where it stands.
type placed struct {
	*model.Integration
	status store.IntegrationStatus
	health *api.IntegrationHealth // of one in a list
}

func placedView(p *placed) any {
	if p.health != nil {
		return p.health
	}
	return integrationOf(p.Integration, p.status)
}

func (r *request) listIntegrations(tenants []*model.Tenant) ([]*placed, string, error) {
	standings, err := r.standings(tenants)
	if err != nil {
		return nil, "", err
	}
	var all []*placed
	for _, s := range standings {
		if !s.Unknown() {
			shown := healthOf(s, r.now())
			all = append(all, &placed{s.Integration, s.Status, &shown})
		}
	}
	// A space sorts before all that names are made of: acme before acme-east.
	key := func(p *placed) string { return p.Tenant + " " + p.Name }
	rows, next := part(r.page, all, key)
	return rows, next, nil
}

// findIntegration returns the integration that the path names.
func findIntegration(r *request) (*model.Integration, error) {
	i, ok := r.tenant.Integration(r.PathValue("name"))
	if !ok {
		return nil, noIntegration
	}
	return i, nil
}

var noIntegration = problem.New(http.StatusNotFound, "this tenant has no integration of that name")

func findPlaced(r *request) (*placed, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	status, err := r.db.IntegrationStatus(r.Context(), i)
	return &placed{i, status, nil}, err
}

// shown is an integration and where it stands.
func (r *request) shown(i *model.Integration) (any, error) {
	status, err := r.db.IntegrationStatus(r.Context(), i)
	if err != nil {
		return nil, err
	}
	r.etag = integrationTag(i, status)
	return integrationOf(i, status), nil
}

func integrationTag(i *model.Integration, s store.IntegrationStatus) string {
	return tag(&i.Row, string(s.State), s.Reason, strconv.Itoa(s.Attempts), s.UpdatedAt.String())
}

// enable has an integration verified now, so that what is held for it goes out.
func enable(r *request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	if err := r.auditAlone(); err != nil { // what follows is no single transaction
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	status, err := r.gateway.Runtime.Enable(ctx, i)
	switch {
	case err == nil:
		return integrationOf(i, status), nil
	case errors.Is(err, store.ErrNotFound):
		return nil, noIntegration
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	}
	return nil, r.noTemporal(err, "the integration is not disabled any more, and Temporal, which has it verified, "+
		"does not answer: VERIFY is sent once that is back")
}
