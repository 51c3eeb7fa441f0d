package signin

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// RecoveryPath is where people who can't sign in choose a password, with a link that an administrator made. Its query is
// a credential, which access logs must not have.
const RecoveryPath = "/recovery"

// recoveryTicket is in a recovery link. It is stored nowhere: choosing a password ends it, like any other change of the
// password.
type recoveryTicket struct {
	User       string
	Password   string // of passwordStamp
	ResetsTOTP bool   // the user sets up another second factor
	Till       time.Time
}

// RecoveryLink returns the address at which a user chooses a password until a time, once; empty: they sign in at their
// company's provider alone.
func (p *Provider) RecoveryLink(u *identity.User, resetsTOTP bool, till time.Time) (string, error) {
	if p.onlyUpstream(u.Email) != nil {
		return "", nil
	}
	ticket, err := p.Vault.SealTicket(forRecovery, p.Issuer, &recoveryTicket{u.ID, passwordStamp(u), resetsTOTP, till})
	return p.Issuer + RecoveryPath + "?" + url.Values{"ticket": {ticket}}.Encode(), err
}

// recovery shows the form in which a user chooses a password. It uses nothing up: mail servers open links, too.
func (p *Provider) recovery(w http.ResponseWriter, r *http.Request) {
	p.recover(w, r, r.URL.Query().Get("ticket"), func(k *recoveryTicket, u *identity.User) error {
		return p.recoveryPage(w, r, http.StatusOK, k, u, "")
	})
}

// recover serves whoever came with the ticket of a recovery link. Others are told that it is over, and guess no faster
// than passwords.
func (p *Provider) recover(w http.ResponseWriter, r *http.Request, ticket string,
	serve func(*recoveryTicket, *identity.User) error) {
	attempt, wait := p.Failures.Try("recovery link", p.Address(r))
	if wait > 0 {
		w.Header().Set("Retry-After", problem.Seconds(wait))
		p.message(w, r, http.StatusTooManyRequests,
			func(t *texts) (string, string) { return t.ChooseTitle, fillSeconds(t.Slow, wait) })
		return
	}
	k := new(recoveryTicket)
	over := func(result string) {
		p.note(r, p.entry(r, "recovery", result, "", k.User))
		p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.LinkOverTitle, t.LinkOver })
	}
	if !p.Vault.OpenTicket(forRecovery, p.Issuer, ticket, k) {
		over("unknown_link")
		return
	}
	attempt.Withdraw()
	u, err := p.db().User(r.Context(), k.User)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (passwordStamp(u) != k.Password || !u.DisabledAt.IsZero() ||
		!p.now().Before(k.Till)):
		over("expired_link")
		return
	case err == nil && p.onlyUpstream(u.Email) != nil:
		p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.NoOwnPasswordTitle, t.NoOwnPassword })
		return
	case err == nil:
		err = serve(k, u)
	}
	if err != nil {
		p.failedPage(w, r, err)
	}
}

func (p *Provider) recoveryPage(w http.ResponseWriter, r *http.Request, status int, k *recoveryTicket, u *identity.User,
	wrong string) error {
	ticket, err := p.Vault.SealTicket(forRecovery, p.Issuer, k)
	if err != nil {
		return err
	}
	t := textsFor(locales(r), r)
	v := &page{Text: t, Title: t.ChooseTitle, Lead: t.Recovery, Who: u.Email, Choose: &chooseForm{RecoveryPath + "/choose", ticket, wrong}}
	if k.ResetsTOTP && u.TOTPRequired {
		v.Lead = t.RecoveryTOTP
	}
	p.render(w, r, status, v)
	return nil
}

// recovered handles the form. All sessions of the user end.
func (p *Provider) recovered(w http.ResponseWriter, r *http.Request) {
	p.recover(w, r, r.PostForm.Get("ticket"), func(k *recoveryTicket, u *identity.User) error {
		t, next := textsFor(locales(r), r), r.PostForm.Get("password")
		if password.Validate(next) != nil {
			return p.recoveryPage(w, r, http.StatusUnprocessableEntity, k, u, t.BadPassword)
		}
		hash, err := password.Hash(r.Context(), next)
		if errors.Is(err, password.ErrBusy) {
			w.Header().Set("Retry-After", problem.Seconds(retryAfter))
			return p.recoveryPage(w, r, http.StatusTooManyRequests, k, u, fillSeconds(t.Slow, retryAfter))
		}
		if err != nil {
			return err
		}
		ok := false
		err = p.db().Write(r.Context(), func(tx *store.Tx) (err error) {
			if ok, err = tx.ChangePassword(u.ID, u.Password, hash, identity.Hash{}, p.now()); err != nil || !ok {
				return err
			}
			if k.ResetsTOTP {
				if _, err := tx.ResetTOTP(u.ID); err != nil {
					return err
				}
			}
			return tx.InsertSigninEntry(p.entry(r, "recovery", "success", "", u.ID))
		})
		switch {
		case err != nil:
			return err
		case !ok: // another tab, or an administrator, was faster
			p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.LinkOverTitle, t.LinkOver })
		default:
			p.message(w, r, http.StatusOK, func(t *texts) (string, string) { return t.ChangedTitle, t.Recovered })
		}
		return nil
	})
}
