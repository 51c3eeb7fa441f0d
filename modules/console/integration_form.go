package console

import (
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// integrationFormOf reads a form. The *failure says what is wrong with it, for the form to show.
func integrationFormOf(form url.Values) (api.IntegrationInput, *failure) {
	f := api.IntegrationInput{Name: form.Get("name"), URL: strings.TrimSpace(form.Get("url")),
		Secret: strings.TrimSpace(form.Get("secret")), Options: model.Options{Documents: model.DocumentMode(form.Get("documents")),
			StandardWebhooks: form.Get("standard") != "", Traceparent: form.Get("traceparent") != ""}}
	f.Rotate = f.Secret != "" && form.Get("rotate") != ""
	if form.Get("endFormer") != "" {
		f.Former = new(string)
	}
	if text := form.Get("inFlight"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n == 0 { // which the API would read as its default
			return f, &failure{status: http.StatusBadRequest, Text: "WrongInFlight"}
		}
		f.InFlight = n
	}
	if words := strings.Fields(form.Get("rate")); len(words) > 0 {
		limit, err := model.ParseRate(words)
		if err != nil {
			return f, &failure{status: http.StatusBadRequest, Text: "WrongIntegrationRate"}
		}
		f.Rate = limit
	}
	if gaps := strings.Fields(form.Get("retry")); len(gaps) > 0 {
		schedule, err := model.ParseSchedule(gaps)
		if err != nil {
			return f, &failure{status: http.StatusBadRequest, Text: "Refused", Detail: err.Error()}
		}
		f.Retry = schedule
	}
	var wrong *failure
	f.Authentication, wrong = authenticationOf(form)
	return f, wrong
}

// Rate returns a rate as it is written in a Caddyfile; empty: there is none.
func (view) Rate(r *model.Rate) string {
	if r == nil {
		return ""
	}
	return r.String()
}

// DefaultGaps returns the gaps between attempts of an integration that has none of its own, as they are typed.
func (view) DefaultGaps() string {
	return strings.NewReplacer(",", "", " min", "m", " s", "s", " h", "h").Replace(gapsOf(model.DefaultSchedule))
}

// integrationFormPage is the template data of the form that adds or changes an integration.
type integrationFormPage struct {
	Tenant   string
	Name     string // of the one that is changed; empty: one is added
	Host     string // where it leads to, without what may be a credential
	Version  string
	Values   url.Values             // of its fields; what is stored, or what a form had that is refused
	Rotating bool                   // the former secret signs as well
	Set      *api.AuthenticationSet // its credentials; nil: it has none
	Modes    []model.DocumentMode
	Wrong    *failure          // why nothing was saved; nil: nothing was refused
	Test     *api.ReceiverTest // of what the form has; nil: it was not tested
	Setup    *setup            // the client is being connected; nil: it is not
}

// Answer returns what came back to the last VERIFY, of a test or of what was to be saved; nil: none was sent.
func (p *integrationFormPage) Answer() *api.ReceiverTest {
	if p.Test == nil && p.Wrong != nil && p.Wrong.Transcript != nil {
		return &api.ReceiverTest{Transcript: *p.Wrong.Transcript}
	}
	return p.Test
}

// Passed reports whether the receiver answered as it must.
func (p *integrationFormPage) Passed() bool { return p.Test != nil && p.Test.Verified }

// FormAction returns where the form leads to.
func (p view) FormAction(d *integrationFormPage) template.URL {
	switch {
	case d.Setup != nil:
		return p.Path("connect", d.Tenant, "2")
	case d.Name != "":
		return p.Path("tenants", d.Tenant, "integrations", d.Name, "edit")
	}
	return p.Path("tenants", d.Tenant, "new-integration")
}

// Value returns what a field of the form holds.
func (p *integrationFormPage) Value(field string) string { return p.Values.Get(field) }

func newIntegration(v *visitor) error {
	if err := v.get(at("tenants", v.PathValue("tenant")), nil, nil); err != nil {
		return err
	}
	return v.integrationForm(http.StatusOK, integrationFormPage{Values: url.Values{"secret": {newSecret()}}})
}

// newSecret returns a random secret. The form shows it, so that the receiver knows it before VERIFY is signed with it.
func newSecret() string { return rand.Text() + rand.Text() }

// integrationForm shows the form for an integration of the tenant that the path names.
func (v *visitor) integrationForm(status int, shown integrationFormPage) error {
	shown.Tenant, shown.Modes = v.PathValue("tenant"), model.DocumentModes
	if v.connecting() {
		var err error
		if shown.Setup, err = v.setupOf(shown.Tenant, 2); err != nil {
			return err
		}
	}
	title := "NewIntegration"
	if shown.Name != "" {
		title = "EditIntegration"
	}
	return v.page(status, "integration-form", title, &shown)
}

// testing has VERIFY sent to what a form describes, if its button says so. The *failure says why it was not.
func (v *visitor) testing(form api.IntegrationInput, refused *failure,
) (tested bool, test *api.ReceiverTest, wrong *failure, err error) {
	if v.PostForm.Get("do") != "test" || refused != nil {
		return false, nil, refused, nil
	}
	v.PostForm.Del("once") // the form is sent once more to save what it has
	wrong, err = refusal(v.post(at("tenants", v.PathValue("tenant"), "receiver-tests"), form, &test))
	return true, test, wrong, err
}

// addIntegration has an integration verified, and kept once it answers.
func addIntegration(v *visitor) error {
	tenant := v.PathValue("tenant")
	form, refused := integrationFormOf(v.PostForm)
	tested, test, refused, err := v.testing(form, refused)
	switch {
	case err != nil:
		return err
	case test != nil:
		return v.integrationForm(http.StatusOK, integrationFormPage{Values: v.PostForm, Test: test})
	}
	if refused == nil && !tested {
		if refused, err = refusal(v.post(at("tenants", tenant, "integrations"), form, nil)); err != nil {
			return err
		}
	}
	if refused != nil {
		return v.integrationForm(refused.status, integrationFormPage{Values: v.PostForm, Wrong: refused})
	}
	if v.connecting() {
		return v.redirect(pathOf("connect", tenant, "2") + "?done=verified")
	}
	return v.redirect(pathOf("tenants", tenant, "integrations", form.Name) + "?done=verified")
}

// editIntegration shows the form that changes an integration; with ?secret=new a secret is suggested.
func editIntegration(v *visitor) error {
	return v.changeIntegration(http.StatusOK, func(stored *api.Integration, shown *integrationFormPage) {
		shown.Version, shown.Values = v.etag, valuesOf(stored)
		if v.URL.Query().Get("secret") == "new" {
			shown.Values.Set("secret", newSecret())
			shown.Values.Set("rotate", "yes")
		}
	})
}

// changeIntegration shows the form that changes the integration that the path names, filled in.
func (v *visitor) changeIntegration(status int, fill func(*api.Integration, *integrationFormPage)) error {
	var stored api.Integration
	name := v.PathValue("name")
	if err := v.get(at("tenants", v.PathValue("tenant"), "integrations", name), nil, &stored); err != nil {
		return err
	}
	shown := integrationFormPage{Name: name, Host: stored.URL, Rotating: stored.Rotating, Set: stored.Authentication}
	fill(&stored, &shown)
	return v.integrationForm(status, shown)
}

// valuesOf returns the fields of a form for what is stored of an integration. It has no secrets.
func valuesOf(stored *api.Integration) url.Values {
	form := url.Values{"documents": {string(stored.Documents)}, "rate": {view{}.Rate(stored.Rate)},
		"retry": {stored.Retry.String()}}
	if stored.InFlight != 0 {
		form.Set("inFlight", strconv.Itoa(stored.InFlight))
	}
	for name, set := range map[string]bool{"standard": stored.StandardWebhooks, "traceparent": stored.Traceparent} {
		if set {
			form.Set(name, "yes")
		}
	}
	return form
}

// saveIntegration has a changed integration verified, where its URL, secret or credentials are others, and kept.
func saveIntegration(v *visitor) error {
	tenant, name := v.PathValue("tenant"), v.PathValue("name")
	path := at("tenants", tenant, "integrations", name)
	form, refused := integrationFormOf(v.PostForm)
	form.Name = name // of which the test takes what the form leaves out
	tested, test, refused, err := v.testing(form, refused)
	switch {
	case err != nil:
		return err
	case test != nil:
		return v.changeIntegration(http.StatusOK, func(_ *api.Integration, shown *integrationFormPage) {
			shown.Version, shown.Values, shown.Test = v.version, v.PostForm, test
		})
	}
	form.Name = ""
	if refused == nil && !tested {
		if refused, err = refusal(v.call(http.MethodPut, path, nil, form, nil)); err != nil {
			return err
		}
	}
	if refused != nil {
		return v.changeIntegration(refused.status, func(_ *api.Integration, shown *integrationFormPage) {
			shown.Version, shown.Values, shown.Wrong = v.version, v.PostForm, refused
		})
	}
	return v.redirect(pathOf("tenants", tenant, "integrations", name) + "?done=saved")
}

// removeIntegration removes an integration, with force also one that helpers of steps name; what was on its way there ends.
func removeIntegration(v *visitor) error {
	if v.PostForm.Get("sure") != "yes" {
		return &failure{status: http.StatusBadRequest, Text: "NotSureToRemove"}
	}
	tenant := v.PathValue("tenant")
	path := at("tenants", tenant, "integrations", v.PathValue("name"))
	if v.PostForm.Has("force") {
		path += "?force=true"
	}
	if err := v.call(http.MethodDelete, path, nil, nil, nil); err != nil {
		return err
	}
	return v.redirect(pathOf("tenants", tenant) + "?done=removed")
}
