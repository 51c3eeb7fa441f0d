package manage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

type integrationList struct {
	Items []integration `json:"items"`
}

// integration is where a tenant's exports go, and whether they do.
type integration struct {
	Tenant    string                  `json:"tenant"`
	Name      string                  `json:"name"`
	State     hiring.IntegrationState `json:"state"`
	Reason    string                  `json:"reason,omitempty"` // why it is not configured, or disabled
	Attempts  int                     `json:"attempts"`         // verifications sent
	UpdatedAt time.Time               `json:"updatedAt,omitzero"`
	URL       string                  `json:"url"` // scheme and host only: the rest may be a credential
	Documents hiring.DocumentMode     `json:"documents"`
}

func integrationOf(i *hiring.Integration, s store.IntegrationStatus) integration {
	if !i.Verify && s.State == hiring.NotConfigured {
		s.State, s.Reason = hiring.Configured, "verify off: it is trusted without VERIFY"
	}
	return integration{
		Tenant: i.Tenant, Name: i.Name, State: s.State, Reason: s.Reason, Attempts: s.Attempts, UpdatedAt: s.UpdatedAt,
		URL: origin(i.URL), Documents: i.Documents,
	}
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// listIntegrations lists the integrations of all tenants, by tenant and name.
func (r *request) listIntegrations() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	statuses, err := r.db.IntegrationStatuses(r.Context())
	if err != nil {
		return nil, r.storeAway(err)
	}
	list := integrationList{Items: []integration{}}
	for t := range r.gateway.Config.All() {
		for n := range t.Integrations {
			i := &t.Integrations[n]
			list.Items = append(list.Items, integrationOf(i, statuses.Of(i)))
		}
	}
	slices.SortFunc(list.Items, func(a, b integration) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// enable has an integration verified now, so that what is held for it goes out.
func (r *request) enable() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	i, ok := t.Integration(r.PathValue("name"))
	if !ok {
		return nil, problem.New(http.StatusNotFound, "this tenant has no integration of that name")
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	status, err := r.gateway.Runtime.Enable(ctx, i)
	switch {
	case err == nil:
		return integrationOf(i, status), nil
	case errors.Is(err, store.ErrUnavailable):
		return nil, r.storeAway(err)
	}
	return nil, r.noTemporal(err, "the integration is not disabled any more, and Temporal, which has it verified, does not answer: VERIFY is sent once that is back")
}
