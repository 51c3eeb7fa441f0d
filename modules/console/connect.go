package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// setup is how far a client is connected. All of it is read from what is stored, so that its steps can be left, resumed,
// shared with somebody else, and done on the command line.
type setup struct {
	Tenant       api.Tenant
	Step         int // that the page shows, counted from 1
	Signatures   api.Signatures
	Integrations []api.IntegrationHealth
}

// Came returns when a request came last that was signed with a secret of the tenant; zero: none did.
func (s *setup) Came() (last time.Time) {
	for _, one := range s.Signatures.Secrets {
		if one.LastUsedAt.After(last) {
			last = one.LastUsedAt
		}
	}
	return last
}

// Answers returns the integration that exports go to; nil: none is verified.
func (s *setup) Answers() *api.IntegrationHealth {
	for n, i := range s.Integrations {
		if i.State != string(model.NotConfigured) && i.State != string(model.Disabled) {
			return &s.Integrations[n]
		}
	}
	return nil
}

// Received returns when an integration received an export last; zero: none did.
func (s *setup) Received() (last time.Time) {
	for _, i := range s.Integrations {
		if i.LastSuccess.After(last) {
			last = i.LastSuccess
		}
	}
	return last
}

// Done reports whether a step is done.
func (s *setup) Done(step int) bool {
	switch step {
	case 1:
		return !s.Came().IsZero()
	case 2:
		return s.Answers() != nil
	}
	return !s.Received().IsZero()
}

// next returns the step that helps now: of those that are not done the first that needs nobody else.
func (s *setup) next() string {
	switch {
	case !s.Done(1) && !s.Done(2):
		return "1"
	case !s.Done(2):
		return "2"
	}
	return "3"
}

// connecting reports whether the page is one of the steps that connect a client.
func (v *visitor) connecting() bool { return strings.HasPrefix(v.URL.Path, "/connect/") }

// setupOf reads how far a tenant is connected.
func (v *visitor) setupOf(tenant string, step int) (s *setup, err error) {
	s = &setup{Step: step}
	if err := v.get(at("tenants", tenant), nil, &s.Tenant); err != nil {
		return nil, err
	}
	if err := v.get(at("tenants", tenant, "signatures"), nil, &s.Signatures); err != nil {
		return nil, err
	}
	s.Integrations, err = v.integrationsOf(tenant)
	return s, err
}

// connectPage is the template data of the pages that connect a client, but for the form of its integration.
type connectPage struct {
	*setup             // of no tenant: it is not there yet
	Values  url.Values // of the form for a new tenant
	Wrong   *failure
	Taken   *api.Tenant // who has the identifier that was typed
	Secret  string      // that was just made; empty: none was
	Earlier *api.RedeliveryPreview
	Sample  *export           // that was sent
	Answer  *api.SampleExport // to a sample that was not accepted
}

// Value returns what a field of the form holds.
func (p *connectPage) Value(field string) string { return p.Values.Get(field) }

// Delivered reports whether all integrations received the sample.
func (p *connectPage) Delivered() bool {
	all := p.Sample.Current()
	return len(all) > 0 && !slices.ContainsFunc(all, func(d api.DeliveryDetail) bool { return d.Outcome != model.Delivered })
}

// newClient shows the form that begins to connect a client.
func newClient(v *visitor) error {
	if v.person.Tenant != "" {
		return errNotAllowed
	}
	return v.page(http.StatusOK, "connect", "Connect", &connectPage{setup: new(setup)})
}

// addTenant makes the tenant of a client, and shows its secret, once.
func addTenant(v *visitor) error {
	if v.person.Tenant != "" {
		return errNotAllowed
	}
	shown := &connectPage{setup: new(setup), Values: v.PostForm}
	id, secret := strings.TrimSpace(v.PostForm.Get("id")), cmp.Or(strings.TrimSpace(v.PostForm.Get("secret")), newSecret())
	if wrong := model.ValidateTenantName(id); wrong != nil {
		shown.Wrong = &failure{status: http.StatusUnprocessableEntity, Text: "Refused", Detail: wrong.Error()}
		return v.page(shown.Wrong.status, "connect", "Connect", shown)
	}
	var there api.Tenant
	switch err := v.get(at("tenants", id), nil, &there); {
	case err == nil:
		shown.Taken = &there
		return v.page(http.StatusConflict, "connect", "Connect", shown)
	case !errors.Is(err, errNotFound):
		return err
	}
	v.fresh = true
	made := api.TenantInput{Name: strings.TrimSpace(v.PostForm.Get("name")), Secrets: &[]string{secret},
		Restore: v.PostForm.Get("restore") == "yes"}
	wrong, err := refusal(v.call(http.MethodPut, at("tenants", id), nil, made, nil))
	switch {
	case err != nil:
		return err
	case wrong != nil:
		shown.Wrong = wrong
		return v.page(wrong.status, "connect", "Connect", shown)
	}
	if shown.setup, err = v.setupOf(id, 1); err != nil {
		return err
	}
	shown.Secret = secret
	return v.page(http.StatusOK, "connect", "Connect", shown)
}

// resumeConnect leads to the step that helps now.
func resumeConnect(v *visitor) error {
	s, err := v.setupOf(v.PathValue("tenant"), 0)
	if err != nil {
		return err
	}
	return v.redirect(pathOf("connect", s.Tenant.ID, s.next()))
}

// connectInbound shows what the service needs, and whether it sends.
func connectInbound(v *visitor) error {
	s, err := v.setupOf(v.PathValue("tenant"), 1)
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "connect", "Connect", &connectPage{setup: s})
}

// connectReceiver shows where exports go: the form for an integration, and once there is one, what came before it.
func connectReceiver(v *visitor) error {
	s, err := v.setupOf(v.PathValue("tenant"), 2)
	switch {
	case err != nil:
		return err
	case len(s.Integrations) == 0:
		return newIntegration(v)
	}
	shown := &connectPage{setup: s}
	if span := shown.earlier(); span != nil {
		span.DryRun = true
		if err := v.post(at("tenants", s.Tenant.ID, "redeliveries"), span, &shown.Earlier); err != nil {
			return err
		}
	}
	return v.page(http.StatusOK, "connect", "Connect", shown)
}

// earlier returns the range of the exports that came before the client's only integration, and went to nobody; nil: its
// integrations need not get the same.
func (s *setup) earlier() *api.RedeliveryInput {
	to := s.Answers()
	if to == nil || len(s.Integrations) > 1 || s.Tenant.CreatedAt.IsZero() {
		return nil
	}
	return &api.RedeliveryInput{Integration: to.Name, Mode: model.RedeliverMissing, Since: s.Tenant.CreatedAt}
}

// deliverEarlier has the exports delivered that came before there was an integration.
func deliverEarlier(v *visitor) error {
	s, err := v.setupOf(v.PathValue("tenant"), 2)
	if err != nil {
		return err
	}
	span := s.earlier()
	if span == nil {
		return v.redirect(pathOf("connect", s.Tenant.ID, "2"))
	}
	if err := v.post(at("tenants", s.Tenant.ID, "redeliveries"), span, nil); err != nil {
		return err
	}
	return v.redirect(pathOf("connect", s.Tenant.ID, "3") + "?done=begunEarlier")
}

// connectSample shows what became of the sample that the query names, and looks again by itself until it is delivered.
func connectSample(v *visitor) error {
	s, err := v.setupOf(v.PathValue("tenant"), 3)
	if err != nil {
		return err
	}
	shown := &connectPage{setup: s}
	if uuid := v.URL.Query().Get("sample"); uuid != "" {
		shown.Sample = new(export)
		if err := v.get(exportAt(s.Tenant.ID, uuid), nil, shown.Sample); err != nil {
			return err
		}
		if v.URL.Query().Has("every") && shown.Delivered() {
			return v.redirect(pathOf("connect", s.Tenant.ID, "3") + "?" + url.Values{"sample": {uuid}}.Encode())
		}
	}
	return v.page(http.StatusOK, "connect", "Connect", shown)
}

// sendSample sends a sample to the address at which the client's exports come in.
func sendSample(v *visitor) error {
	tenant := v.PathValue("tenant")
	var sent api.SampleExport
	v.PostForm.Del("once") // each press sends another one
	wrong, err := refusal(v.post(at("tenants", tenant, "sample"), nil, &sent))
	switch {
	case err != nil:
		return err
	case wrong == nil && sent.Accepted:
		return v.redirect(pathOf("connect", tenant, "3") + "?" + url.Values{"sample": {sent.UUID}, "every": {"5"}}.Encode())
	}
	shown := &connectPage{Wrong: wrong}
	if wrong == nil {
		shown.Answer = &sent
	}
	if shown.setup, err = v.setupOf(tenant, 3); err != nil {
		return err
	}
	return v.page(http.StatusConflict, "connect", "Connect", shown)
}

// ConnectTitle says what helps now.
func (p view) ConnectTitle(d *connectPage) (string, error) {
	client := cmp.Or(d.Tenant.Name, d.Tenant.ID)
	key := "ConnectSample"
	switch {
	case d.Tenant.ID == "" && d.Taken != nil:
		return p.T("ConnectTaken", "id", d.Taken.ID)
	case d.Tenant.ID == "":
		key = "Connect"
	case d.Step == 1 && d.Done(1):
		key = "ConnectCame"
	case d.Step == 1:
		key = "ConnectGive"
	case d.Step == 2 && d.Done(2):
		key = "ConnectAnswers"
	case d.Step == 2:
		key = "ConnectReceiver"
	case d.Sample != nil && d.Delivered():
		key = "Connected"
	case d.Sample != nil:
		key = "ConnectSampleSent"
	}
	return p.T(key, "client", client)
}
