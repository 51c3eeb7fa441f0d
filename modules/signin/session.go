package signin

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// session returns the session of the request; nil: no user is signed in.
func (p *Provider) session(r *http.Request) (*identity.Session, error) {
	hash, ok := p.sessionHash(r)
	if !ok {
		return nil, nil
	}
	s, err := p.db().Session(r.Context(), p.Issuer, hash, p.now())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return s, err
}

func (p *Provider) sessionHash(r *http.Request) (identity.Hash, bool) {
	c, err := r.Cookie(p.cookie)
	if err != nil || c.Value == "" {
		return identity.Hash{}, false
	}
	return identity.HashSecret(c.Value), true
}

// setCookie sets a cookie for maxAge seconds, or until the browser closes if that is 0; it removes the cookie if value
// is empty. Because of their prefix, browsers accept our cookies from us alone, for all paths of this host, and only
// if they are Secure, which http://localhost counts as.
func setCookie(w http.ResponseWriter, name, value string, maxAge int) {
	if value == "" {
		maxAge = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}

// ownForm passes on forms that were sent from a page of ours: browsers report where a form comes from. Other clients
// have no cookie to abuse.
func (p *Provider) ownForm(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.guard.Check(r) != nil {
			p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.ForeignTitle, t.Foreign })
			return
		}
		if _, ok := form(r); !ok {
			p.untrusted(w, r)
			return
		}
		next(w, r)
	}
}

// signIn handles the sign-in form. The authorization request in it is checked again: the form is as trustworthy as the
// browser.
func (p *Provider) signIn(w http.ResponseWriter, r *http.Request) {
	a, err := p.read(r, r.PostForm.Get("request"))
	if p.stopped(w, r, a, err) {
		return
	}
	if r.PostForm.Get("action") == "cancel" || slices.Contains(a.prompt, "none") {
		p.refuse(w, r, a, "access_denied", "the user does not want to sign in")
		return
	}
	f := signInForm{Email: strings.TrimSpace(r.PostForm.Get("email"))}
	plain := r.PostForm.Get("password")
	t := textsFor(a.locales, r)
	if f.Email == "" {
		f.EmailError = t.NoEmail
	}
	if plain == "" {
		f.PasswordError = t.NoPassword
	}
	if f.EmailError != "" || f.PasswordError != "" {
		p.signInPage(w, r, http.StatusUnprocessableEntity, a, f)
		return
	}
	attempt, wait := p.Failures.Try(identity.Fold(f.Email), p.Address(r))
	if wait > 0 {
		p.slow(w, r, a, f, wait)
		return
	}
	u, err := p.check(r, attempt, f.Email, plain)
	switch {
	case errors.Is(err, password.ErrBusy):
		attempt.Withdraw()
		p.slow(w, r, a, f, time.Second)
	case errors.Is(err, errWrong):
		p.signInFailed(r, a, u)
		f.PasswordError = t.Wrong
		p.signInPage(w, r, http.StatusForbidden, a, f)
	case err != nil:
		attempt.Withdraw()
		p.brokenPage(w, r, err)
	default:
		attempt.Succeed()
		p.admit(w, r, a, u, first{At: p.now()})
	}
}

// slow asks the user to wait.
func (p *Provider) slow(w http.ResponseWriter, r *http.Request, a *authorization, f signInForm, wait time.Duration) {
	metrics.SignIn(a.client.ID, "sign-in", "throttled")
	w.Header().Set("Retry-After", problem.Seconds(wait))
	f.PasswordError = strings.ReplaceAll(textsFor(a.locales, r).Slow, "{seconds}", problem.Seconds(wait))
	p.signInPage(w, r, http.StatusTooManyRequests, a, f)
}

var errWrong = errors.New("there is no such user, or the password is another")

// check finds the user of an e-mail address and compares the password, in the same time whether or not they exist. With
// errWrong it returns the user as well, if they exist.
func (p *Provider) check(r *http.Request, attempt *password.Attempt, email, plain string) (*identity.User, error) {
	u, err := p.db().UserByEmail(r.Context(), email)
	if errors.Is(err, store.ErrNotFound) {
		u = new(identity.User)
	} else if err != nil {
		return nil, err
	}
	same, err := attempt.Verify(r.Context(), u.Password, plain)
	if err == nil && (!same || !u.DisabledAt.IsZero()) {
		err = errWrong
	}
	return u, err
}

func (p *Provider) signInFailed(r *http.Request, a *authorization, u *identity.User) {
	metrics.SignIn(a.client.ID, "sign-in", "wrong_password")
	p.note(r, p.entry(r, "sign-in", "wrong_password", a.client.ID, u.ID))
}

// signedIn starts a session under a new id for a user who was authenticated, and continues.
func (p *Provider) signedIn(w http.ResponseWriter, r *http.Request, a *authorization, u *identity.User, f first) {
	cookie, hash := identity.NewSecret()
	s := &identity.Session{Hash: hash, Issuer: p.Issuer, UserID: u.ID, SignedInAt: f.At,
		Till:    p.now().Add(identity.SessionLife),
		Account: identity.UpstreamAccount{Issuer: f.Issuer, Subject: f.Subject}}
	before, _ := p.sessionHash(r)
	e := p.entry(r, "sign-in", "success", a.client.ID, u.ID)
	err := p.db().Write(r.Context(), func(tx *store.Tx) error {
		if err := tx.InsertSession(before, s, u); err != nil {
			return err
		}
		return tx.InsertSigninEntry(e)
	})
	if errors.Is(err, store.ErrNotFound) { // what they showed is not good any more
		p.signInPage(w, r, http.StatusForbidden, a, signInForm{Email: a.loginHint})
		return
	}
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	metrics.SignIn(a.client.ID, "sign-in", "success")
	setCookie(w, p.cookie, cookie, 0)
	p.proceed(w, r, a, s, slices.Contains(a.prompt, "consent"))
}

// justNow is how long the form of a further step may take.
const justNow = 5 * time.Minute

// tooLate asks a user whose ticket has expired to sign in again, and tells them why (WCAG 2.2, criterion 2.2.1).
func (p *Provider) tooLate(w http.ResponseWriter, r *http.Request, a *authorization) {
	p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint, Notice: textsFor(a.locales, r).Late})
}

// consentAsked is a ticket: the consent page was shown to this session, at a time when it met the request. The browser
// returns it, sealed, with the answer. So a user who has signed in since in another tab does not agree for the first,
// and a request that demands a new sign-in is not answered without one.
type consentAsked struct {
	Session identity.Hash
	Request string // the authorization request
	At      time.Time
}

// consent handles the form that asks for consent.
func (p *Provider) consent(w http.ResponseWriter, r *http.Request) {
	var asked consentAsked
	if !p.Vault.OpenTicket(forAsked, p.Issuer, r.PostForm.Get("ticket"), &asked) {
		p.untrusted(w, r)
		return
	}
	a, err := p.read(r, asked.Request)
	if p.stopped(w, r, a, err) {
		return
	}
	if r.PostForm.Get("action") != "allow" {
		p.refuse(w, r, a, "access_denied", "the user does not agree")
		return
	}
	s, err := p.session(r)
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	switch now := p.now(); {
	case s == nil || s.Hash != asked.Session:
		p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
	case !a.satisfiedBy(s, now) && now.Sub(asked.At) > justNow:
		p.tooLate(w, r, a)
	default:
		p.issue(w, r, a, s, true)
	}
}
