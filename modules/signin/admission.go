package signin

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/identity"
)

var errNotAdmitted = badRequest("access_denied", "the user is in none of the groups that may sign in to this client")

// deniedForm leads people back to an application that is not for them.
type deniedForm struct{ Back string }

// admits reports whether the user of a session may sign in to the application. If not, it has shown a page that says so.
func (p *Provider) admits(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session) (bool, error) {
	if len(a.client.Groups) == 0 {
		return true, nil
	}
	u, err := p.db().User(r.Context(), s.UserID)
	if err != nil || a.client.Admits(u) {
		return err == nil, err
	}
	p.failed(r, a, "not_admitted", u.ID)
	if a.prompts("none") {
		return false, errNotAdmitted
	}
	t := textsFor(a.locales, r)
	p.render(w, r, http.StatusForbidden, &page{Text: t, Title: p.fill(t.DeniedTitle, a.client.Name),
		Lead: p.fill(t.Denied, a.client.Name), Who: u.Email, Request: a.raw,
		Denied: &deniedForm{p.fill(t.AnswerTitle, a.client.Name)}, permitted: leading(a.redirectURI)})
	return false, nil
}

// denied handles the form that leads people back, or lets them sign in as somebody else.
func (p *Provider) denied(w http.ResponseWriter, r *http.Request) {
	p.run(w, r, r.PostForm.Get("request"), func(w http.ResponseWriter, r *http.Request, a *authorization) error {
		if r.PostForm.Get("action") != "another" {
			return errNotAdmitted
		}
		p.signInPage(w, r, http.StatusOK, a, signInForm{})
		return nil
	})
}
