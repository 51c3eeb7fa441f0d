package signin

import (
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// factorPath is where people set up, renew and remove their second factor.
const factorPath = "/second-factor"

// ownFactorForm is the form in which people prove with their password that it is them, and say what becomes of their
// second factor.
type ownFactorForm struct {
	On, Own bool // they have one; they chose to by themselves
	Error   string
}

// ownFactorTicket is a second factor that a user sets up by themselves. The browser returns it, sealed, with a code.
type ownFactorTicket struct {
	User     string
	Password string // of passwordStamp
	Secret   []byte
	At       time.Time
}

// ownFactor shows people whether they have a second factor.
func (p *Provider) ownFactor(w http.ResponseWriter, r *http.Request) {
	p.ownWithPassword(w, r, func(_ *identity.Session, u *identity.User) error {
		p.ownFactorPage(w, r, http.StatusOK, u, "")
		return nil
	})
}

func (p *Provider) ownFactorPage(w http.ResponseWriter, r *http.Request, status int, u *identity.User, wrong string) {
	t := textsFor(locales(r), r)
	v := &page{Text: t, Title: t.OwnFactorTitle, Lead: t.NoFactor, Who: u.Email, OwnFactor: &ownFactorForm{Error: wrong}}
	switch on := u.TOTP != nil; {
	case on && u.TOTPOwn:
		v.Lead, v.OwnFactor.On, v.OwnFactor.Own = t.OwnFactor, true, true
	case on:
		v.Lead, v.OwnFactor.On = t.RequiredFactor, true
	}
	p.render(w, r, status, v)
}

// changeFactor handles the form. Whoever sits at somebody's browser does not know their password.
func (p *Provider) changeFactor(w http.ResponseWriter, r *http.Request) {
	p.ownWithPassword(w, r, func(s *identity.Session, u *identity.User) error {
		status, wrong, err := p.checkOwnPassword(w, r, u, r.PostForm.Get("current"), "second-factor")
		switch {
		case err != nil:
			return err
		case wrong != "":
			p.ownFactorPage(w, r, status, u, wrong)
			return nil
		case r.PostForm.Get("action") == "remove":
			return p.removeFactor(w, r, s, u)
		}
		return p.setUpPage(w, r, http.StatusOK, u, &ownFactorTicket{u.ID, passwordStamp(u), newTOTPSecret(), p.now()}, "")
	})
}

// setUpPage shows a new second factor, and asks for a code of it.
func (p *Provider) setUpPage(w http.ResponseWriter, r *http.Request, status int, u *identity.User, k *ownFactorTicket,
	wrong string) error {
	ticket, err := p.Vault.SealTicket(forOwnFactor, p.Issuer, k)
	if err != nil {
		return err
	}
	shown, err := p.newSetUp(u, k.Secret)
	if err != nil {
		return err
	}
	t := textsFor(locales(r), r)
	p.render(w, r, status, &page{Text: t, Title: t.SetUpTitle, Lead: t.SetUp, Who: u.Email,
		Factor: &factorForm{To: factorPath + "/set-up", Ticket: ticket, Error: wrong, SetUp: shown}})
	return nil
}

// setUpFactor handles the form with the first code. All other sessions end.
func (p *Provider) setUpFactor(w http.ResponseWriter, r *http.Request) {
	p.ownWithPassword(w, r, func(s *identity.Session, u *identity.User) error {
		k := new(ownFactorTicket)
		if !p.Vault.OpenTicket(forOwnFactor, p.Issuer, r.PostForm.Get("ticket"), k) || k.User != u.ID ||
			k.Password != passwordStamp(u) || p.now().Sub(k.At) > setUpLife {
			redirect(w, http.StatusSeeOther, p.Issuer+factorPath) // start again
			return nil
		}
		t, code := textsFor(locales(r), r), typedCode(r)
		if len(code) != totpDigits {
			return p.setUpPage(w, r, http.StatusUnprocessableEntity, u, k, t.NoCode)
		}
		step, ok := stepOf(k.Secret, code, p.now())
		if !ok {
			return p.setUpPage(w, r, http.StatusForbidden, u, k, t.WrongCode)
		}
		sealed, err := p.Vault.Seal(forFactors, u.ID, k.Secret)
		if err != nil {
			return err
		}
		return p.factorChanged(w, r, s, "set_up", func(tx *store.Tx) (bool, error) { return tx.ReplaceTOTP(u, sealed, step) })
	})
}

// removeFactor removes a second factor that nobody requires. All other sessions end.
func (p *Provider) removeFactor(w http.ResponseWriter, r *http.Request, s *identity.Session, u *identity.User) error {
	return p.factorChanged(w, r, s, "removed", func(tx *store.Tx) (bool, error) { return tx.RemoveOwnTOTP(u) })
}

// factorChanged changes a second factor, unless an administrator was faster, and ends all sessions but the user's.
func (p *Provider) factorChanged(w http.ResponseWriter, r *http.Request, s *identity.Session, result string,
	change func(*store.Tx) (bool, error)) error {
	ok := false
	err := p.db().Write(r.Context(), func(tx *store.Tx) (err error) {
		if ok, err = change(tx); err != nil || !ok {
			return err
		}
		if _, err := tx.EndOtherSessions(s.UserID, "", s.Hash, p.now()); err != nil {
			return err
		}
		return tx.InsertSigninEntry(p.entry(r, "second-factor", result, "", s.UserID))
	})
	switch {
	case err != nil:
		return err
	case !ok:
		redirect(w, http.StatusSeeOther, p.Issuer+factorPath)
	default:
		p.message(w, r, http.StatusOK, func(t *texts) (string, string) {
			if result == "removed" {
				return t.FactorRemovedTitle, t.Changed
			}
			return t.FactorSetUpTitle, t.Changed
		})
	}
	return nil
}
