package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
)

func clientFormOf(form url.Values) api.OAuthClientSettings {
	return api.OAuthClientSettings{Name: form.Get("name"), RedirectURIs: linesOf(form.Get("redirects")),
		PostLogoutRedirectURIs: linesOf(form.Get("logouts")),
		BackchannelLogoutURI:   strings.TrimSpace(form.Get("backchannel")), Algorithm: form.Get("algorithm"),
		SecretPost:  form.Get("post") != "",
		RequirePKCE: form.Get("pkce") != "", Consent: form.Get("consent") != "", Groups: linesOf(form.Get("groups"))}
}

// linesOf returns the lines of a text that are not blank.
func linesOf(text string) []string {
	all := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Lines returns a list as a text, with a line for each item.
func (view) Lines(all []string) string { return strings.Join(all, "\n") }

// refusals returns the latest authorization requests that were refused, of a client or of all.
func (v *visitor) refusals(of string) ([]api.SignInRefusal, error) {
	query := url.Values{"limit": {"20"}}
	if of != "" {
		query.Set("client", of)
	}
	var all api.List[api.SignInRefusal]
	err := v.get("/v1/sign-in-refusals", query, &all)
	return all.Items, err
}

// clientsPage is the template data of the applications. A form that was refused keeps what was filled in.
type clientsPage struct {
	api.List[api.OAuthClient]
	More     string
	Refusals []api.SignInRefusal
	ID       string
	Form     api.OAuthClientSettings
	Wrong    *failure // nil: the form was not refused
}

// listClients shows the applications that people sign in to, and the last authorization requests that were refused.
func listClients(v *visitor) error {
	return v.renderClients(http.StatusOK, &clientsPage{Form: api.OAuthClientSettings{RequirePKCE: true}})
}

func (v *visitor) renderClients(status int, shown *clientsPage) (err error) {
	shown.More, err = pageOf(v, "/v1/oauth-clients", url.Values{"limit": {"100"}}, &shown.List)
	if err != nil {
		return err
	}
	if shown.Refusals, err = v.refusals(""); err != nil {
		return err
	}
	return v.page(status, "clients", "Clients", shown)
}

// addClient makes an application, and shows its secret, this once.
func addClient(v *visitor) error {
	shown := clientsPage{ID: v.PostForm.Get("id"), Form: clientFormOf(v.PostForm)}
	var made api.OAuthClient
	body := api.OAuthClientInput{ID: shown.ID, OAuthClientSettings: shown.Form}
	refused, err := refusal(v.post("/v1/oauth-clients", body, &made))
	switch {
	case err != nil:
		return err
	case refused != nil:
		shown.Wrong = refused
		return v.renderClients(refused.status, &shown)
	}
	return v.renderClient(http.StatusOK, clientPage{Secret: made.Secret}, made.ID)
}

// clientPage is the template data of an application, with a secret that was just made.
type clientPage struct {
	Client   api.OAuthClient
	Version  string // that the form was made of
	Refusals []api.SignInRefusal
	Form     api.OAuthClientSettings
	Secret   string   // shown this once
	Wrong    *failure // why the form was refused; nil: it was not
}

// showClient shows an application.
func showClient(v *visitor) error {
	return v.renderClient(http.StatusOK, clientPage{}, v.PathValue("id"))
}

// renderClient shows an application. The form has its settings, unless it was refused.
func (v *visitor) renderClient(status int, shown clientPage, id string) (err error) {
	if err := v.get(at("oauth-clients", id), nil, &shown.Client); err != nil {
		return err
	}
	shown.Version = cmp.Or(shown.Version, v.etag)
	if shown.Wrong == nil {
		shown.Form = shown.Client.OAuthClientSettings
	}
	if shown.Refusals, err = v.refusals(id); err != nil {
		return err
	}
	return v.page(status, "client", "Client", &shown)
}

// editClient changes the settings of an application.
func editClient(v *visitor) error {
	form, id := clientFormOf(v.PostForm), v.PathValue("id")
	switch refused, err := refusal(v.call(http.MethodPut, at("oauth-clients", id), nil, form, nil)); {
	case err != nil:
		return err
	case refused != nil:
		return v.renderClient(refused.status, clientPage{Version: v.version, Form: form, Wrong: refused}, id)
	}
	return v.redirect(pathOf("applications", id) + "?done=saved")
}

// actOnClient makes another secret of an application, ends its former ones, or removes it.
func actOnClient(v *visitor) error {
	id, action := v.PathValue("id"), v.PathValue("action")
	path := at("oauth-clients", id)
	switch action {
	case "reset":
		var made api.OAuthClient
		if err := v.post(path+"/reset", nil, &made); err != nil {
			return err
		}
		return v.renderClient(http.StatusOK, clientPage{Secret: made.Secret}, id)
	case "end-secrets":
		path += "/former-secrets"
	case "remove":
		if v.PostForm.Get("sure") != "yes" {
			return &failure{status: http.StatusBadRequest, Text: "NotSureOfClient"}
		}
	default:
		return errNotFound
	}
	if err := v.call(http.MethodDelete, path, nil, nil, nil); err != nil {
		return err
	}
	return v.redirect(pathOf("applications", id) + "?done=client_" + action)
}
