package signin

import (
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// passwordPath is where people change their password.
const passwordPath = "/password"

// passwordForm is the form with a user's password and the next one, with what is wrong beside each field. It never holds
// either.
type passwordForm struct{ CurrentError, NewError string }

// ownPassword shows the form with which people change their password.
func (p *Provider) ownPassword(w http.ResponseWriter, r *http.Request) {
	p.ownWithPassword(w, r, func(_ *identity.Session, u *identity.User) error {
		p.passwordPage(w, r, http.StatusOK, u, passwordForm{})
		return nil
	})
}

// ownWithPassword serves a page of whoever is signed in and has a password here. It tells others that they have none.
func (p *Provider) ownWithPassword(w http.ResponseWriter, r *http.Request, serve func(*identity.Session, *identity.User) error) {
	p.own(w, r, func(s *identity.Session) error {
		u, err := p.db().User(r.Context(), s.UserID)
		if err != nil {
			return err
		}
		if u.Password == "" || p.onlyUpstream(u.Email) != nil {
			p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.NoOwnPasswordTitle, t.NoOwnPassword })
			return nil
		}
		return serve(s, u)
	})
}

func (p *Provider) passwordPage(w http.ResponseWriter, r *http.Request, status int, u *identity.User, f passwordForm) {
	t := textsFor(locales(r), r)
	p.render(w, r, status, &page{Text: t, Title: t.OwnPasswordTitle, Lead: t.OwnPassword, Who: u.Email, Password: &f})
}

// checkOwnPassword checks the password of a user who is signed in. wrong is what the page says is wrong with it; empty: it
// is right. Whoever sits at somebody's browser does not know it, and guesses no faster than at the sign-in page.
func (p *Provider) checkOwnPassword(w http.ResponseWriter, r *http.Request, u *identity.User, plain, event string) (status int,
	wrong string, err error) {
	t := textsFor(locales(r), r)
	if plain == "" {
		return http.StatusUnprocessableEntity, t.NoPassword, nil
	}
	attempt, wait := p.Failures.Try(identity.Fold(u.Email), p.Address(r))
	if wait == 0 {
		var same bool
		switch same, err = attempt.Verify(r.Context(), u.Password, plain); {
		case errors.Is(err, password.ErrBusy):
			attempt.Withdraw()
			wait = time.Second
		case err != nil:
			attempt.Withdraw()
			return 0, "", err
		case !same:
			p.note(r, p.entry(r, event, "wrong_password", "", u.ID))
			return http.StatusForbidden, t.WrongCurrent, nil
		default:
			attempt.Succeed()
			return 0, "", nil
		}
	}
	return http.StatusTooManyRequests, slow(w, t, wait), nil
}

// slow tells the browser how long to wait, and returns the text for the user.
func slow(w http.ResponseWriter, t *texts, wait time.Duration) string {
	w.Header().Set("Retry-After", problem.Seconds(wait))
	return fillSeconds(t.Slow, wait)
}

// changePassword handles the form. All other sessions end.
func (p *Provider) changePassword(w http.ResponseWriter, r *http.Request) {
	p.ownWithPassword(w, r, func(s *identity.Session, u *identity.User) error {
		t := textsFor(locales(r), r)
		current, next := r.PostForm.Get("current"), r.PostForm.Get("password")
		var f passwordForm
		if current == "" {
			f.CurrentError = t.NoPassword
		}
		if password.Validate(next) != nil {
			f.NewError = t.BadPassword
		}
		if f != (passwordForm{}) {
			p.passwordPage(w, r, http.StatusUnprocessableEntity, u, f)
			return nil
		}
		status, wrong, err := p.checkOwnPassword(w, r, u, current, "password")
		var hash string
		if err == nil && wrong == "" {
			if hash, err = password.Hash(r.Context(), next); errors.Is(err, password.ErrBusy) {
				status, wrong, err = http.StatusTooManyRequests, slow(w, t, time.Second), nil
			}
		}
		if err != nil {
			return err
		}
		if wrong != "" {
			p.passwordPage(w, r, status, u, passwordForm{CurrentError: wrong})
			return nil
		}
		err = p.db().Write(r.Context(), func(tx *store.Tx) error {
			ok, err := tx.ChangePassword(u.ID, u.Password, hash, s.Hash, p.now())
			if err == nil && !ok { // an administrator was faster
				err = store.ErrNotFound
			}
			if err != nil {
				return err
			}
			return tx.InsertSigninEntry(p.entry(r, "password", "success", "", u.ID))
		})
		if errors.Is(err, store.ErrNotFound) {
			p.passwordPage(w, r, http.StatusForbidden, u, passwordForm{CurrentError: t.WrongCurrent})
			return nil
		}
		if err == nil {
			p.message(w, r, http.StatusOK, func(t *texts) (string, string) { return t.ChangedTitle, t.Changed })
		}
		return err
	})
}
