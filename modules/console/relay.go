package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// relayPage is the template data of the form of the service that a tenant's applications are relayed to.
type relayPage struct {
	Tenant  api.Tenant
	Set     *api.ApplyUpstream // nil: they are not relayed
	Version string
	Values  url.Values             // of the fields: what is set, or what a form had
	Wrong   *failure               // why nothing was saved or tested; nil: nothing was refused
	Test    *api.ApplyUpstreamTest // nil: nothing was tested
}

// Value returns what a field of the form holds.
func (p *relayPage) Value(field string) string { return p.Values.Get(field) }

// relayOf returns the service that a tenant's applications are relayed to; nil: they are not.
func (v *visitor) relayOf(tenant string) (*api.ApplyUpstream, error) {
	var set api.ApplyUpstream
	switch err := v.get(at("tenants", tenant, "apply-upstream"), nil, &set); {
	case errors.Is(err, errNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &set, nil
}

func showRelay(v *visitor) error { return v.relay(http.StatusOK, relayPage{}) }

func (v *visitor) relay(status int, shown relayPage) error {
	tenant := v.PathValue("tenant")
	if err := v.get(at("tenants", tenant), nil, &shown.Tenant); err != nil {
		return err
	}
	var err error
	if shown.Set, err = v.relayOf(tenant); err != nil {
		return err
	}
	shown.Version = cmp.Or(v.version, v.etag)
	if shown.Values == nil && shown.Set != nil {
		shown.Values = relayFields(shown.Set)
	}
	return v.page(status, "relay", "Relay", &shown)
}

// relayFields returns the fields of the form for what is set. The password is not among them.
func relayFields(u *api.ApplyUpstream) url.Values {
	return url.Values{"url": {u.URL}, "user": {u.User}, "source": {u.Source}, "wait": {strconv.Itoa(u.Wait)},
		"tryFor": {strconv.Itoa(u.TryFor)}, "keep": {strconv.Itoa(u.Keep)}, "rate": {u.Rate.String()}, "feed": {u.Feed}}
}

// relayFormOf reads a form. The *failure says what is wrong with it, for the form to show.
func relayFormOf(form url.Values) (in api.ApplyUpstreamInput, wrong *failure) {
	in = api.ApplyUpstreamInput{URL: strings.TrimSpace(form.Get("url")), User: strings.TrimSpace(form.Get("user")),
		Password: form.Get("password"), Source: strings.TrimSpace(form.Get("source")),
		Feed: strings.TrimSpace(form.Get("feed"))}
	for name, to := range map[string]**int{"wait": &in.Wait, "tryFor": &in.TryFor, "keep": &in.Keep} {
		if text := strings.TrimSpace(form.Get(name)); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return in, &failure{status: http.StatusBadRequest, Text: "RelayWrongNumber"}
			}
			*to = &n
		}
	}
	if words := strings.Fields(form.Get("rate")); len(words) > 0 {
		rate, err := model.ParseRate(words)
		if err != nil {
			return in, &failure{status: http.StatusBadRequest, Text: "WrongIntegrationRate"}
		}
		in.Rate = rate
	}
	return in, nil
}

// saveRelay has a service let its user sign in, and keeps it then; its button for a test keeps nothing. A test without a
// form is of what is set.
func saveRelay(v *visitor) error {
	path := at("tenants", v.PathValue("tenant"), "apply-upstream")
	shown := relayPage{}
	var body any
	var wrong *failure
	if v.PostForm.Has("url") {
		shown.Values = v.PostForm
		body, wrong = relayFormOf(v.PostForm)
	}
	tested := v.PostForm.Get("do") == "test"
	var err error
	switch {
	case wrong != nil:
	case tested:
		wrong, err = refusal(v.post(path+"/test", body, &shown.Test))
	default:
		v.fresh = v.version == ""
		wrong, err = refusal(v.call(http.MethodPut, path, nil, body, nil))
	}
	switch {
	case err != nil:
		return err
	case wrong != nil:
		shown.Wrong = wrong
		return v.relay(wrong.status, shown)
	case tested:
		return v.relay(http.StatusOK, shown)
	}
	return v.toTenant("relay-saved")
}

// removeRelay ends that a tenant's applications are relayed.
func removeRelay(v *visitor) error {
	path := at("tenants", v.PathValue("tenant"), "apply-upstream")
	if err := v.call(http.MethodDelete, path, nil, nil, nil); err != nil {
		return err
	}
	return v.toTenant("relay-removed")
}
