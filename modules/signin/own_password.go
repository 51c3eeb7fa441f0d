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
	p.own(w, r, func(s *identity.Session) error {
		u, err := p.userWithPassword(w, r, s)
		if err == nil && u != nil {
			p.passwordPage(w, r, http.StatusOK, u, passwordForm{})
		}
		return err
	})
}

// userWithPassword returns the user of a session. If they have no password here, it has shown a page that says so, and
// the user is nil.
func (p *Provider) userWithPassword(w http.ResponseWriter, r *http.Request, s *identity.Session) (*identity.User, error) {
	u, err := p.db().User(r.Context(), s.UserID)
	if err == nil && (u.Password == "" || p.onlyUpstream(u.Email) != nil) {
		p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.NoOwnPasswordTitle, t.NoOwnPassword })
		return nil, nil
	}
	return u, err
}

func (p *Provider) passwordPage(w http.ResponseWriter, r *http.Request, status int, u *identity.User, f passwordForm) {
	t := textsFor(locales(r), r)
	p.render(w, r, status, &page{Text: t, Title: t.OwnPasswordTitle, Lead: t.OwnPassword, Who: u.Email, Password: &f})
}

// changePassword handles the form. Whoever sits at somebody's browser does not know their password, and guesses no faster
// than at the sign-in page. All other sessions end.
func (p *Provider) changePassword(w http.ResponseWriter, r *http.Request) {
	p.own(w, r, func(s *identity.Session) error {
		u, err := p.userWithPassword(w, r, s)
		if err != nil || u == nil {
			return err
		}
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
		slow := func(wait time.Duration) error {
			w.Header().Set("Retry-After", problem.Seconds(wait))
			p.passwordPage(w, r, http.StatusTooManyRequests, u, passwordForm{CurrentError: fillSeconds(t.Slow, wait)})
			return nil
		}
		attempt, wait := p.Failures.Try(identity.Fold(u.Email), p.Address(r))
		if wait > 0 {
			return slow(wait)
		}
		same, err := attempt.Verify(r.Context(), u.Password, current)
		var hash string
		if err == nil && same {
			hash, err = password.Hash(r.Context(), next)
		}
		switch {
		case errors.Is(err, password.ErrBusy):
			attempt.Withdraw()
			return slow(time.Second)
		case err != nil:
			attempt.Withdraw()
			return err
		case !same:
			p.note(r, p.entry(r, "password", "wrong_password", "", u.ID))
			p.passwordPage(w, r, http.StatusForbidden, u, passwordForm{CurrentError: t.WrongCurrent})
			return nil
		}
		attempt.Succeed()
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
