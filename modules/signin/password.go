package signin

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// askForPassword shows the sign-in page, unless the request forbids it. Whoever the application says will sign in is led
// to the upstream of that address.
func (p *Provider) askForPassword(w http.ResponseWriter, r *http.Request, a *authorization) error {
	if a.prompts("none") {
		return badRequest("login_required", "no user is signed in as requested")
	}
	if u := p.onlyUpstream(a.loginHint); u != nil && u.ID != "" {
		return p.leadTo(w, r, a, u, a.loginHint)
	}
	p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
	return nil
}

// signInForm is the sign-in form as it was filled in, with what is wrong beside each field. It never holds the
// password.
type signInForm struct {
	Email, EmailError, PasswordError string
	Notice                           string // why the user has to sign in again; empty: no reason is shown
	AddressFirst                     bool   // it has no field for a password yet
}

func (p *Provider) signInPage(w http.ResponseWriter, r *http.Request, status int, a *authorization, f signInForm) {
	t := textsFor(a.locales, r)
	f.AddressFirst = p.asksAddressFirst() && f.PasswordError == "" && (f.Email == "" || f.EmailError != "")
	v := &page{Text: t, Title: t.SignInTitle, Lead: p.fill(t.SignInFor, a.client.Name), Request: a.raw, SignIn: &f,
		permitted: leading(a.redirectURI)}
	if u := p.unnamed(); u != nil && !u.Disabled {
		v.Upstream = p.fillAt(u, t.Upstream, "")
		v.permitted = leading(a.redirectURI, u.Issuer)
	}
	p.render(w, r, status, v)
}

// ticketLife limits the time in which a user returns the form of a further step.
const ticketLife = 5 * time.Minute

// expiredPage asks a user whose ticket has expired to sign in again, and says why (WCAG 2.2, criterion 2.2.1).
func (p *Provider) expiredPage(w http.ResponseWriter, r *http.Request, a *authorization) {
	p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint, Notice: textsFor(a.locales, r).Late})
}

// signIn handles the sign-in form. The authorization request in it is checked again: the form is as trustworthy as the
// browser.
func (p *Provider) signIn(w http.ResponseWriter, r *http.Request) {
	p.run(w, r, r.PostForm.Get("request"), p.checkPassword)
}

// checkPassword checks the e-mail address and the password of the sign-in form. The second factor comes next. Whoever
// signs in upstream alone is led there.
func (p *Provider) checkPassword(w http.ResponseWriter, r *http.Request, a *authorization) error {
	if r.PostForm.Get("action") == "cancel" || a.prompts("none") {
		return errDeclined
	}
	f := signInForm{Email: strings.TrimSpace(r.PostForm.Get("email"))}
	plain := r.PostForm.Get("password")
	if u := p.onlyUpstream(f.Email); u != nil {
		return p.leadTo(w, r, a, u, f.Email)
	}
	t := textsFor(a.locales, r)
	if f.Email == "" {
		f.EmailError = t.NoEmail
	}
	asked := r.PostForm.Has("password") || !p.asksAddressFirst()
	if plain == "" && asked {
		f.PasswordError = t.NoPassword
	}
	if f.EmailError != "" || f.PasswordError != "" {
		p.signInPage(w, r, http.StatusUnprocessableEntity, a, f)
		return nil
	}
	if !asked {
		p.signInPage(w, r, http.StatusOK, a, f)
		return nil
	}
	attempt, wait := p.Failures.Try(identity.Fold(f.Email), p.Address(r))
	if wait > 0 {
		f.PasswordError = throttle(w, a, t.Slow, wait)
		p.signInPage(w, r, http.StatusTooManyRequests, a, f)
		return nil
	}
	u, err := p.userWith(r, attempt, f.Email, plain)
	switch {
	case err == nil:
		attempt.Succeed()
		if up := p.onlyUpstream(u.Email); up != nil { // the address that was typed looks like theirs
			return p.leadTo(w, r, a, up, u.Email)
		}
		return p.askForFactor(w, r, a, u, firstFactor{At: p.now()})
	case errors.Is(err, errWrongPassword):
		p.failed(r, a, "wrong_password", u.ID)
		f.PasswordError = t.Wrong
		p.signInPage(w, r, http.StatusForbidden, a, f)
		return nil
	case errors.Is(err, password.ErrBusy):
		attempt.Withdraw()
		f.PasswordError = throttle(w, a, t.Slow, time.Second)
		p.signInPage(w, r, http.StatusTooManyRequests, a, f)
		return nil
	default:
		attempt.Withdraw()
		return err
	}
}

var errWrongPassword = errors.New("there is no such user, or the password is another")

// userWith returns the user with an e-mail address and a password. It takes the same time whether or not they exist.
// With errWrongPassword it returns the user as well; the ID is empty if they don't exist.
func (p *Provider) userWith(r *http.Request, attempt *password.Attempt, email, plain string) (*identity.User, error) {
	u, err := p.db().UserByEmail(r.Context(), email)
	if errors.Is(err, store.ErrNotFound) {
		u = new(identity.User)
	} else if err != nil {
		return nil, err
	}
	same, err := attempt.Verify(r.Context(), u.Password, plain)
	if err == nil && (!same || !u.DisabledAt.IsZero()) {
		err = errWrongPassword
	}
	return u, err
}

// throttle tells the browser how long to wait before the next attempt, and returns the text for the user
// with that number of seconds.
func throttle(w http.ResponseWriter, a *authorization, text string, wait time.Duration) string {
	metrics.SignIn(a.client.ID, "sign-in", "throttled")
	w.Header().Set("Retry-After", problem.Seconds(wait))
	return fillSeconds(text, wait)
}

// fillSeconds puts a number of seconds into a text.
func fillSeconds(text string, wait time.Duration) string {
	return strings.ReplaceAll(text, "{seconds}", problem.Seconds(wait))
}

// failed counts a sign-in that failed and writes it into the log of sign-ins. user may be empty.
func (p *Provider) failed(r *http.Request, a *authorization, result, user string) {
	metrics.SignIn(a.client.ID, "sign-in", result)
	p.note(r, p.entry(r, "sign-in", result, a.client.ID, user))
}
