package console

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// failures counts deliveries of the last day that ended without being received, for the same reason.
type failures struct{ api.FailureGroup }

// Range returns the query that asks for their redelivery, of the minutes in which their exports were received.
func (f failures) Range() string {
	q := url.Values{"tenant": {f.Tenant}, "integration": {f.Integration}, "mode": {"failed"},
		"since": {f.Oldest.UTC().Format(fieldTime)}, "until": {f.Newest.UTC().Add(time.Minute).Format(fieldTime)}}
	if slices.Contains(model.Faults, f.Class) {
		q.Set("class", string(f.Class))
	}
	if f.Status > 0 {
		q.Set("status", strconv.Itoa(f.Status))
	}
	return q.Encode()
}

// List returns the query of the list of their exports.
func (f failures) List() string {
	q := url.Values{"tenant": {f.Tenant}, "integration": {f.Integration}, "outcome": {string(f.Outcome)},
		"since": {f.Oldest.UTC().Format(fieldTime)}}
	if slices.Contains(model.Faults, f.Class) {
		q.Set("class", string(f.Class))
	}
	return q.Encode()
}

// fewRows is the number of exports of each kind that the start page shows.
const fewRows = "10"

// startPage shows what needs a person. It leads visitors of a portal to their tenant.
func startPage(v *visitor) error {
	if v.portal {
		return v.redirect(pathOf("tenants", v.person.Tenant))
	}
	var shown struct {
		Status            api.GatewayStatus
		Needing           []api.IntegrationHealth
		Failures          api.List[failures]
		Quarantined, Lost api.List[export]
	}
	if err := v.get("/v1/status", nil, &shown.Status); err != nil {
		return err
	}
	for _, h := range shown.Status.Integrations {
		if h.Need != nil {
			shown.Needing = append(shown.Needing, h.IntegrationHealth)
		}
	}
	day := v.console.Gateway.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	if err := v.get("/v1/failures", nil, &shown.Failures); err != nil {
		return err
	}
	for list, query := range map[*api.List[export]]url.Values{
		&shown.Quarantined: {"quarantined": {"true"}, "limit": {fewRows}},
		&shown.Lost:        {"lostDocuments": {"true"}, "since": {day}, "limit": {fewRows}},
	} {
		if err := v.get("/v1/exports", query, list); err != nil {
			return err
		}
	}
	return v.page(200, "start", "Attention", shown)
}
