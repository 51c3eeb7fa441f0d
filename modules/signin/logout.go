package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// logout signs a user out for an application (OpenID Connect RP-Initiated Logout 1.0): at once if an ID token proves
// that it is about the user who is signed in; otherwise it asks them, because any site could send them here. A POST is
// redirected to a GET: a POST from another site carries no cookie. A request that can't be parsed, or that repeats a
// parameter, gets a page: it may name two addresses.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.asGet(w, r, "/oauth/logout")
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || repeated(q) {
		p.untrustedPage(w, r)
		return
	}
	s, err := p.storedSession(r)
	if err != nil {
		p.failedPage(w, r, err)
		return
	}
	user, client := "", q.Get("client_id")
	if hint := q.Get("id_token_hint"); hint != "" {
		var of string
		switch user, of, _ = p.verifyHint(r.Context(), hint); {
		case client == "":
			client = of
		case client != of: // section 2: it must be the one that the ID token was for
			user, client = "", ""
		}
	}
	to, err := p.afterLogout(r, client, q)
	switch {
	case err != nil:
		p.failedPage(w, r, err)
	case s == nil || user == s.UserID:
		p.endSession(w, r, to, client)
	default:
		p.signOutPage(w, r, to, client)
	}
}

// signOutForm is the form that asks the user whether to sign out.
type signOutForm struct {
	To, State, Client, Locales string
}

func (p *Provider) signOutPage(w http.ResponseWriter, r *http.Request, to destination, client string) {
	t := textsFor(locales(r), r)
	v := &page{Text: t, Title: t.AskOutTitle, Lead: p.fill(t.AskOut, ""),
		SignOut: &signOutForm{to.address, to.state, client, locales(r)}}
	if to.address != "" {
		v.permitted = leading(to.address)
	}
	p.render(w, r, http.StatusOK, v)
}

// signOut handles the form that asks the user whether to sign out.
func (p *Provider) signOut(w http.ResponseWriter, r *http.Request) {
	q := url.Values{"post_logout_redirect_uri": {r.PostForm.Get("to")}}
	client := r.PostForm.Get("client_id")
	to, err := p.afterLogout(r, client, q)
	if state := r.PostForm.Get("state"); state != "" && to.address != "" {
		to.state = state
	}
	if err != nil {
		p.failedPage(w, r, err)
		return
	}
	p.endSession(w, r, to, client)
}

// destination is the address to which the user is sent after signing out; if it is empty they stay here.
type destination struct{ address, state string }

// afterLogout returns the address that the application asks for, if it is registered, byte for byte.
func (p *Provider) afterLogout(r *http.Request, client string, q url.Values) (destination, error) {
	address := q.Get("post_logout_redirect_uri")
	if address == "" || client == "" {
		return destination{}, nil
	}
	c, err := p.db().Client(r.Context(), client)
	if errors.Is(err, store.ErrNotFound) ||
		err == nil && (!c.DisabledAt.IsZero() || !slices.Contains(c.LogoutURIs, address)) {
		return destination{}, nil
	}
	return destination{address, q.Get("state")}, err
}

func (p *Provider) endSession(w http.ResponseWriter, r *http.Request, to destination, client string) {
	s, err := p.storedSession(r)
	if err != nil { // a user who may still be signed in must not read that they are not
		p.failedPage(w, r, err)
		return
	}
	if s != nil {
		e := p.entry(r, "sign-out", "success", client, s.UserID)
		if to.address == "" {
			e.Client = "" // it is not verified
		}
		if err := p.db().Write(r.Context(), func(tx *store.Tx) error {
			if err := tx.DeleteSession(s.Hash, p.now()); err != nil {
				return err
			}
			return tx.InsertSigninEntry(e)
		}); err != nil {
			p.failedPage(w, r, err)
			return
		}
		metrics.SignIn(e.Client, "sign-out", "success")
	}
	setCookie(w, p.cookie, "", 0)
	if to.address == "" {
		p.message(w, r, http.StatusOK, func(t *texts) (string, string) { return t.OutTitle, t.Out })
		return
	}
	more := url.Values{}
	if to.state != "" {
		more.Set("state", to.state)
	}
	redirectWith(w, r, to.address, more)
}
