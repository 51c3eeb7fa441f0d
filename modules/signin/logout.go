package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// logout signs somebody out for an application (OpenID Connect RP-Initiated Logout 1.0). Where an ID token says that it is about
// whom is signed in, it is done at once; otherwise they are asked, since any site could send them here. A POST is sent on as a GET:
// coming from another site it has no cookie. A request that can't be read, or has a parameter twice, gets a page: it may name two
// addresses.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.asGet(w, r, "/oauth/logout")
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || repeated(q) {
		p.untrusted(w, r)
		return
	}
	s, err := p.session(r)
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	user, client := "", q.Get("client_id")
	if hint := q.Get("id_token_hint"); hint != "" {
		var of string
		switch user, of, _ = p.hinted(r.Context(), hint); {
		case client == "":
			client = of
		case client != of: // section 2: it must be the one that the ID token was for
			user, client = "", ""
		}
	}
	to, err := p.afterLogout(r, client, q)
	switch {
	case err != nil:
		p.brokenPage(w, r, err)
	case s == nil || user == s.UserID:
		p.endSession(w, r, to, client)
	default:
		p.signOutPage(w, r, to, client)
	}
}

// signOut takes the form that asks whether somebody wants to be signed out.
func (p *Provider) signOut(w http.ResponseWriter, r *http.Request) {
	q := url.Values{"post_logout_redirect_uri": {r.PostForm.Get("to")}}
	client := r.PostForm.Get("client_id")
	to, err := p.afterLogout(r, client, q)
	if state := r.PostForm.Get("state"); state != "" && to.address != "" {
		to.state = state
	}
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	p.endSession(w, r, to, client)
}

// destination is where somebody goes after signing out; without an address they stay here.
type destination struct{ address, state string }

// afterLogout is where the application wants somebody to go, if that is registered for it, byte for byte.
func (p *Provider) afterLogout(r *http.Request, client string, q url.Values) (destination, error) {
	address := q.Get("post_logout_redirect_uri")
	if address == "" || client == "" {
		return destination{}, nil
	}
	c, err := p.db().Client(r.Context(), client)
	if errors.Is(err, store.ErrNotFound) || err == nil && (!c.DisabledAt.IsZero() || !slices.Contains(c.LogoutURIs, address)) {
		return destination{}, nil
	}
	return destination{address, q.Get("state")}, err
}

func (p *Provider) endSession(w http.ResponseWriter, r *http.Request, to destination, client string) {
	s, err := p.session(r)
	if err != nil { // nobody is told that they are signed out who may not be
		p.brokenPage(w, r, err)
		return
	}
	if s != nil {
		e := p.entry(r, "sign-out", "success", client, s.UserID)
		if to.address == "" {
			e.Client = "" // it may be anything that the request says
		}
		if err := p.db().Write(r.Context(), func(tx *store.Tx) error {
			if err := tx.EndSession(s.Hash); err != nil {
				return err
			}
			return tx.LogSignin(e)
		}); err != nil {
			p.brokenPage(w, r, err)
			return
		}
		metrics.SignIn(e.Client, "sign-out", "success")
	}
	p.setCookie(w, "")
	if to.address == "" {
		p.message(w, r, http.StatusOK, func(t *texts) (string, string) { return t.OutTitle, t.Out })
		return
	}
	more := url.Values{}
	if to.state != "" {
		more.Set("state", to.state)
	}
	p.leave(w, r, to.address, more)
}
