package signin

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
)

// choosePath is where the form of those who were given a password leads.
const choosePath = "/oauth/choose"

// chooseForm is the form in which people choose a password in place of the one that they were given, or can't know.
type chooseForm struct{ To, Ticket, Error string }

// choosePage asks a user who passed all factors for another password.
func (p *Provider) choosePage(w http.ResponseWriter, r *http.Request, status int, a *authorization, u *identity.User,
	f firstFactor, wrong string) error {
	ticket, err := p.Vault.SealTicket(forChoice, p.Issuer, &factorTicket{User: u.ID, Password: passwordStamp(u), First: f,
		Request: a.raw, At: p.now()})
	if err != nil {
		return err
	}
	t := textsFor(a.locales, r)
	p.render(w, r, status, &page{Text: t, Title: t.ChooseTitle, Lead: t.Choose, Who: u.Email,
		Choose: &chooseForm{choosePath, ticket, wrong}, permitted: leading(a.redirectURI)})
	return nil
}

// choose handles the form with the password that a user chose.
func (p *Provider) choose(w http.ResponseWriter, r *http.Request) {
	fits := func(k *factorTicket, u *identity.User) bool { return u.MustChange && passwordStamp(u) == k.Password }
	p.runTicket(w, r, forChoice, fits, p.checkChoice)
}

// checkChoice stores the password that a user chose. The session comes next.
func (p *Provider) checkChoice(w http.ResponseWriter, r *http.Request, a *authorization, u *identity.User, k *factorTicket) error {
	t, next := textsFor(a.locales, r), r.PostForm.Get("password")
	if password.Validate(next) != nil {
		return p.choosePage(w, r, http.StatusUnprocessableEntity, a, u, k.First, t.BadPassword)
	}
	attempt, wait := p.Failures.Try("choice "+u.ID, p.Address(r))
	if wait > 0 {
		return p.choosePage(w, r, http.StatusTooManyRequests, a, u, k.First, throttle(w, a, t.Slow, wait))
	}
	given, err := attempt.Verify(r.Context(), u.Password, next)
	var hash string
	if err == nil && !given {
		hash, err = password.Hash(r.Context(), next)
	}
	attempt.Withdraw() // nothing is guessed here
	switch {
	case errors.Is(err, password.ErrBusy):
		return p.choosePage(w, r, http.StatusTooManyRequests, a, u, k.First, throttle(w, a, t.Slow, retryAfter))
	case err != nil:
		return err
	case given:
		return p.choosePage(w, r, http.StatusUnprocessableEntity, a, u, k.First, t.SamePassword)
	}
	ok := false
	err = p.db().Write(r.Context(), func(tx *store.Tx) (err error) {
		if ok, err = tx.ChangePassword(u.ID, u.Password, hash, identity.Hash{}, p.now()); err != nil || !ok {
			return err
		}
		return tx.InsertSigninEntry(p.entry(r, "password", "success", a.client.ID, u.ID))
	})
	if err != nil {
		return err
	}
	if !ok { // an administrator, or another tab, was faster
		p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
		return nil
	}
	u.Password, u.MustChange = hash, false
	return p.startSession(w, r, a, u, k.First)
}
