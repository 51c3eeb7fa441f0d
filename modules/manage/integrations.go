package manage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// integration is where a tenant's exports go, and whether they do.
type integration struct {
	ID        string                  `json:"id"` // its name, which is unique in its tenant
	Tenant    string                  `json:"tenant"`
	Name      string                  `json:"name"`
	State     hiring.IntegrationState `json:"state"`
	Reason    string                  `json:"reason,omitempty"` // why it is not configured, or disabled
	Attempts  int                     `json:"attempts"`         // verifications sent
	UpdatedAt time.Time               `json:"updatedAt,omitzero"`
	URL       string                  `json:"url"` // scheme and host only: the rest may be a credential
	Documents hiring.DocumentMode     `json:"documents"`
	Standard  bool                    `json:"standardWebhooks"`
	InFlight  int                     `json:"inFlight"`
	Retry     []string                `json:"retry,omitempty"` // gaps between attempts; absent: the default schedule
	Declared  bool                    `json:"declared"`        // in the Caddyfile: it is changed there
	Version   int64                   `json:"version,omitzero"`
}

func integrationOf(i *hiring.Integration, s store.IntegrationStatus) integration {
	if !i.Verify && s.State == hiring.NotConfigured {
		s.State, s.Reason = hiring.Configured, "verify off: it is trusted without VERIFY"
	}
	shown := integration{
		ID: i.Name, Tenant: i.Tenant, Name: i.Name, State: s.State, Reason: s.Reason, Attempts: s.Attempts, UpdatedAt: s.UpdatedAt,
		URL: origin(i.URL), Documents: i.Documents, Standard: i.StandardWebhooks, InFlight: cmp.Or(i.InFlight, hiring.DefaultInFlight),
		Declared: i.Row.Version == 0, Version: i.Row.Version,
	}
	for _, gap := range i.Retry {
		shown.Retry = append(shown.Retry, gap.String())
	}
	return shown
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// listIntegrations lists the integrations of a tenant by name, or those of all tenants that the caller sees.
func (r *request) listIntegrations() (any, error) {
	_, page, err := r.page("integration")
	if err != nil {
		return nil, err
	}
	tenants := r.tenants()
	if r.PathValue("tenant") != "" {
		t, err := r.tenant()
		if err != nil {
			return nil, err
		}
		tenants = []*hiring.Tenant{t}
	}
	statuses, err := r.db.IntegrationStatuses(r.Context())
	if err != nil {
		return nil, err
	}
	var all []integration
	for _, t := range tenants {
		for n := range t.Integrations {
			i := &t.Integrations[n]
			all = append(all, integrationOf(i, statuses.Of(i)))
		}
	}
	// A space sorts before all that names are made of: acme before acme-east.
	key := func(i integration) string { return i.Tenant + " " + i.Name }
	slices.SortFunc(all, func(a, b integration) int { return cmp.Compare(key(a), key(b)) })
	rows, next := part(page, all, key)
	return listed(page, rows, next, itself), nil
}

// integration is the integration that the path names.
func (r *request) integration() (*hiring.Tenant, *hiring.Integration, error) {
	if _, err := r.query(); err != nil {
		return nil, nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, nil, err
	}
	i, ok := t.Integration(r.PathValue("name"))
	if !ok {
		return t, nil, noIntegration()
	}
	return t, i, nil
}

func noIntegration() error {
	return problem.New(http.StatusNotFound, "this tenant has no integration of that name")
}

func (r *request) showIntegration() (any, error) {
	_, i, err := r.integration()
	if err != nil {
		return nil, err
	}
	return r.shown(i)
}

// shown is an integration and where it stands.
func (r *request) shown(i *hiring.Integration) (any, error) {
	status, err := r.db.IntegrationStatus(r.Context(), i)
	if err != nil {
		return nil, err
	}
	r.etag = integrationTag(i, status)
	return integrationOf(i, status), nil
}

func integrationTag(i *hiring.Integration, s store.IntegrationStatus) string {
	return tag(&i.Row, string(s.State), s.Reason, strconv.Itoa(s.Attempts), s.UpdatedAt.String())
}

// enable has an integration verified now, so that what is held for it goes out.
func (r *request) enable() (any, error) {
	_, i, err := r.integration()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	status, err := r.gateway.Runtime.Enable(ctx, i)
	switch {
	case err == nil:
		return integrationOf(i, status), nil
	case errors.Is(err, store.ErrNotFound):
		return nil, noIntegration()
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	}
	return nil, r.noTemporal(err, "the integration is not disabled any more, and Temporal, which has it verified, does not answer: VERIFY is sent once that is back")
}
