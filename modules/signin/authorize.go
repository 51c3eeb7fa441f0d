package signin

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/problem"
)

// authorize starts a sign-in. A POST is redirected to a GET: a POST from another site carries no cookie.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.asGet(w, r, "/oauth/authorize")
		return
	}
	p.run(w, r, r.URL.RawQuery, p.start)
}

// start asks for a password, or for consent if the user is signed in as the request demands.
func (p *Provider) start(w http.ResponseWriter, r *http.Request, a *authorization) error {
	s, err := p.session(r)
	switch {
	case err != nil:
		return err
	case s == nil || !a.satisfiedBy(s, p.now()):
		return p.askForPassword(w, r, a)
	default:
		return p.askForConsent(w, r, a, s)
	}
}

// step is one step of a sign-in. It shows a page, takes the next step, or sends the user back with a code. If it
// returns an error it has answered nothing: a *problem.Problem is for
// the application, any other error is ours.
type step func(w http.ResponseWriter, r *http.Request, a *authorization) error

// run reads the authorization request that a step continues, and runs the step.
func (p *Provider) run(w http.ResponseWriter, r *http.Request, request string, next step) {
	a, err := p.readRequest(r, request)
	if err == nil {
		err = next(w, r, a)
	}
	refused, ok := errors.AsType[*problem.Problem](err)
	switch {
	case err == nil:
	case ok:
		p.refuse(w, r, a, refused)
	case errors.Is(err, errUntrusted):
		p.untrustedPage(w, r)
	default:
		p.failedPage(w, r, err)
	}
}
