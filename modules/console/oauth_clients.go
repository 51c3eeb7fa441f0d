package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client is an application that people sign in to, as the management API has it.
type client struct {
	ID string `json:"id"`
	clientForm
	Secret     string    `json:"secret"` // one that was just made
	Secrets    int       `json:"secrets"`
	CreatedAt  time.Time `json:"createdAt"`
	DisabledAt time.Time `json:"disabledAt"`
}

// clientForm is what a form says of an application.
type clientForm struct {
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirectUris"`
	LogoutURIs   []string `json:"postLogoutRedirectUris"`
	Algorithm    string   `json:"algorithm"`
	SecretPost   bool     `json:"secretPost"`
	RequirePKCE  bool     `json:"requirePkce"`
	Consent      bool     `json:"consent"`
}

func clientFormOf(form url.Values) clientForm {
	return clientForm{Name: form.Get("name"), RedirectURIs: linesOf(form.Get("redirects")),
		LogoutURIs: linesOf(form.Get("logouts")), Algorithm: form.Get("algorithm"), SecretPost: form.Get("post") != "",
		RequirePKCE: form.Get("pkce") != "", Consent: form.Get("consent") != ""}
}

// linesOf are the lines of a text that are not blank.
func linesOf(text string) []string {
	all := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Lines is a list as a text, a line each.
func (view) Lines(all []string) string { return strings.Join(all, "\n") }

// refusedRequest is an authorization request that sign-in refused, as the management API has it.
type refusedRequest struct {
	Client      string    `json:"client"`
	Known       bool      `json:"known"`
	Reason      string    `json:"reason"`
	RedirectURI string    `json:"redirectUri"`
	Count       int64     `json:"count"`
	LastAt      time.Time `json:"lastAt"`
}

// refusals are the latest authorization requests that were refused, of a client or of all.
func (v *visitor) refusals(of string) ([]refusedRequest, error) {
	query := url.Values{"limit": {"20"}}
	if of != "" {
		query.Set("client", of)
	}
	var all listOf[refusedRequest]
	err := v.get("/v1/sign-in-refusals", query, &all)
	return all.Items, err
}

// clientsPage is a page of the applications, and what its form was filled with when it was refused.
type clientsPage struct {
	listOf[client]
	More     string
	Refusals []refusedRequest
	ID       string
	Form     clientForm
	Wrong    *failure // nil: the form was not refused
}

// listClients shows the applications that people sign in to, and the last authorization requests that were refused.
func listClients(v *visitor) error {
	return v.renderClients(http.StatusOK, &clientsPage{Form: clientForm{RequirePKCE: true}})
}

func (v *visitor) renderClients(status int, shown *clientsPage) (err error) {
	shown.More, err = pageOf(v, "/v1/oauth-clients", url.Values{"limit": {"100"}}, &shown.listOf)
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
	var made client
	body := struct {
		ID string `json:"id"`
		clientForm
	}{shown.ID, shown.Form}
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

// clientPage is an application, with a secret that was just made.
type clientPage struct {
	Client   client
	Version  string // that the form was made of
	Refusals []refusedRequest
	Form     clientForm
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
	shown.Version = v.etag
	if shown.Wrong == nil {
		shown.Form = shown.Client.clientForm
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
		return v.renderClient(refused.status, clientPage{Form: form, Wrong: refused}, id)
	}
	return v.redirect(pathOf("applications", id) + "?done=saved")
}

// actOnClient makes another secret of an application, ends its former ones, or removes it.
func actOnClient(v *visitor) error {
	id, action := v.PathValue("id"), v.PathValue("action")
	path := at("oauth-clients", id)
	switch action {
	case "reset":
		var made client
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
