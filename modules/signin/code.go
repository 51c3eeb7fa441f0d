package signin

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// sendCode sends the user back to the application with a code. consented means that they have just agreed.
func (p *Provider) sendCode(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session,
	consented bool) error {
	if !a.accepts(s.UserID) {
		return badRequest("login_required", "another user is signed in than requested")
	}
	code, hash := identity.NewSecret()
	g := &identity.Grant{Issuer: p.Issuer, Client: a.client.ID, UserID: s.UserID, RedirectURI: a.redirectURI,
		Scope: a.scope, Claims: a.claims.format(), Nonce: a.nonce, Challenge: a.challenge, SignedInAt: s.SignedInAt,
		IssuedAt: p.now()}
	e := p.entry(r, "authorize", "success", a.client.ID, s.UserID)
	err := p.db().Write(r.Context(), func(tx *store.Tx) error {
		if consented {
			if err := tx.UpsertConsent(s.UserID, a.client.ID, a.consentScope(), g.IssuedAt); err != nil {
				return err
			}
		}
		if err := tx.InsertCode(hash, s.Hash, g); err != nil {
			return err
		}
		return tx.InsertSigninEntry(e)
	})
	if errors.Is(err, store.ErrNotFound) { // the session has ended meanwhile
		return p.askForPassword(w, r, a)
	}
	if err != nil {
		return err
	}
	metrics.SignIn(a.client.ID, "authorize", "success")
	p.sendBack(w, r, a, url.Values{"code": {code}})
	return nil
}
