package signin

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// firstFactor says how a user passed the first factor.
type firstFactor struct {
	At              time.Time
	Issuer, Subject string // of the upstream account; empty: it was the password
	SID             string // of the session upstream; empty: none is known
	Refresh         string // the upstream's refresh token; empty: it gave none
}

// askForFactor asks for the second factor, if the user needs one; otherwise it starts the session.
func (p *Provider) askForFactor(w http.ResponseWriter, r *http.Request, a *authorization, u *identity.User,
	f firstFactor) error {
	if !u.TOTPRequired {
		return p.startSession(w, r, a, u, f)
	}
	k := &factorTicket{User: u.ID, Password: passwordStamp(u), First: f, Request: a.raw, At: p.now()}
	if u.TOTP == nil {
		k.Secret = newTOTPSecret()
	}
	return p.factorPage(w, r, http.StatusOK, a, u, k, "")
}

// factorTicket proves that a user has passed the first factor. The browser returns it, sealed, with the second.
type factorTicket struct {
	User     string
	Password string      // of passwordStamp; another password ends the ticket
	First    firstFactor // the ticket ends when the upstream account is removed
	Request  string      // the authorization request
	At       time.Time
	Secret   []byte // of a second factor that is being set up; nil: it is set up
}

// passwordStamp returns a hash of the stored password hash.
func passwordStamp(u *identity.User) string {
	sum := identity.HashSecret(u.Password)
	return hex.EncodeToString(sum[:])
}

// setUpLife limits the time in which a user sets up a second factor, which can include installing an app.
const setUpLife = 20 * time.Minute

func (k *factorTicket) life() time.Duration {
	if k.Secret != nil {
		return setUpLife
	}
	return ticketLife
}

// fits reports whether a ticket still is for the user: nothing has changed since that matters to a sign-in.
func (k *factorTicket) fits(u *identity.User) bool {
	return u.DisabledAt.IsZero() && u.TOTPRequired && (u.TOTP == nil) == (k.Secret != nil) &&
		passwordStamp(u) == k.Password
}

// factorForm is the form that asks for a one-time password.
type factorForm struct {
	To            string // where it leads, if not on with a sign-in
	Ticket, Error string
	SetUp         *setUp // to set up an app with; nil: it is set up
}

func (p *Provider) factorPage(w http.ResponseWriter, r *http.Request, status int, a *authorization, u *identity.User,
	k *factorTicket, wrong string) error {
	t := textsFor(a.locales, r)
	ticket, err := p.Vault.SealTicket(forFactor, p.Issuer, k)
	f := &factorForm{Ticket: ticket, Error: wrong}
	v := &page{Text: t, Title: t.FactorTitle, Lead: p.fill(t.Factor, ""), Factor: f, permitted: leading(a.redirectURI)}
	if err == nil && k.Secret != nil {
		v.Title, v.Lead = t.SetUpTitle, t.SetUp
		f.SetUp, err = p.newSetUp(u, k.Secret)
	}
	if err != nil {
		return err
	}
	p.render(w, r, status, v)
	return nil
}

// factor handles the form with the one-time password.
func (p *Provider) factor(w http.ResponseWriter, r *http.Request) {
	p.runTicket(w, r, forFactor, (*factorTicket).fits, p.checkFactor)
}

// runTicket goes on with the authorization request of the ticket that a form carries, for a purpose. Where the ticket does
// not fit its user any more, they sign in again.
func (p *Provider) runTicket(w http.ResponseWriter, r *http.Request, purpose string, fits func(*factorTicket, *identity.User) bool,
	check func(http.ResponseWriter, *http.Request, *authorization, *identity.User, *factorTicket) error) {
	k := new(factorTicket)
	if !p.Vault.OpenTicket(purpose, p.Issuer, r.PostForm.Get("ticket"), k) {
		p.untrustedPage(w, r)
		return
	}
	p.run(w, r, k.Request, func(w http.ResponseWriter, r *http.Request, a *authorization) error {
		if r.PostForm.Get("action") == "cancel" {
			return errDeclined
		}
		u, err := p.userOf(r.Context(), k)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && !fits(k, u):
			p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
			return nil
		case err != nil:
			return err
		case p.now().Sub(k.At) > k.life():
			p.expiredPage(w, r, a)
			return nil
		}
		return check(w, r, a, u, k)
	})
}

// checkFactor checks the one-time password. The session comes next.
func (p *Provider) checkFactor(w http.ResponseWriter, r *http.Request, a *authorization, u *identity.User, k *factorTicket) error {
	t := textsFor(a.locales, r)
	code := typedCode(r)
	if len(code) != totpDigits {
		return p.factorPage(w, r, http.StatusUnprocessableEntity, a, u, k, t.NoCode)
	}
	attempt, wait := p.Failures.TryCode("second factor "+u.ID, p.Address(r))
	if wait > 0 {
		return p.factorPage(w, r, http.StatusTooManyRequests, a, u, k, throttle(w, a, t.Slow, wait))
	}
	right, err := p.useCode(r, u, k, code)
	switch {
	case err != nil:
		attempt.Withdraw()
		return err
	case !right:
		p.failed(r, a, "wrong_code", u.ID)
		return p.factorPage(w, r, http.StatusForbidden, a, u, k, t.WrongCode)
	}
	attempt.Succeed()
	if k.First.Subject == "" { // they are authenticated from now on; an upstream reports its own time
		k.First.At = p.now()
	}
	return p.startSession(w, r, a, u, k.First)
}

// typedCode returns the one-time password of a form; people type blanks in it.
func typedCode(r *http.Request) string {
	return strings.Join(strings.Fields(r.PostForm.Get("code")), "")
}

// userOf returns the user of a ticket. ErrNotFound: there is no such user, or their upstream account was removed.
func (p *Provider) userOf(ctx context.Context, k *factorTicket) (*identity.User, error) {
	if k.First.Subject == "" {
		return p.db().User(ctx, k.User)
	}
	u, err := p.db().UserByUpstreamAccount(ctx, k.First.Issuer, k.First.Subject)
	if err == nil && u.ID != k.User {
		err = store.ErrNotFound
	}
	return u, err
}
