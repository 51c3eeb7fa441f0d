package signin

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// startSession starts a session under a new id for a user who was authenticated, and asks for their consent. Whoever was
// given their password chooses another one first.
func (p *Provider) startSession(w http.ResponseWriter, r *http.Request, a *authorization, u *identity.User,
	f firstFactor) error {
	if f.Subject == "" && u.MustChange {
		return p.choosePage(w, r, http.StatusOK, a, u, f, "")
	}
	cookie, hash := identity.NewSecret()
	session, grants := p.SessionEnd, p.GrantEnd
	if f.Subject != "" && f.Refresh == "" { // dismissed at their company, nobody would tell us
		session, grants = min(session, identity.UnconfirmedLife), min(grants, identity.UnconfirmedLife)
	}
	s := &identity.Session{Hash: hash, Issuer: p.Issuer, UserID: u.ID, SignedInAt: f.At,
		Till: p.now().Add(session), GrantsTill: p.now().Add(grants), Address: p.Address(r), Browser: browserOf(r.UserAgent())}
	if f.Subject != "" {
		s.Upstream = &identity.UpstreamSession{Hash: hash, Site: p.Issuer, Issuer: f.Issuer, Subject: f.Subject, SID: f.SID,
			UserID: u.ID, AskedAt: p.now(), Till: s.GrantsTill}
		if err := p.sealUpstream(s.Upstream, f.Refresh); err != nil {
			return err
		}
	}
	before, _ := p.sessionHash(r)
	e := p.entry(r, "sign-in", "success", a.client.ID, u.ID)
	err := p.db().Write(r.Context(), func(tx *store.Tx) error {
		if err := tx.InsertSession(before, s, u); err != nil {
			return err
		}
		return tx.InsertSigninEntry(e)
	})
	if errors.Is(err, store.ErrNotFound) { // their password or account was changed meanwhile
		p.signInPage(w, r, http.StatusForbidden, a, signInForm{Email: a.loginHint})
		return nil
	}
	if err != nil {
		return err
	}
	metrics.SignIn(a.client.ID, "sign-in", "success")
	setCookie(w, p.cookie, cookie, 0)
	return p.askForConsent(w, r, a, s)
}

// session returns the session of the request; nil: no user is signed in. It may ask the upstream whether they still are.
func (p *Provider) session(r *http.Request) (*identity.Session, error) {
	s, err := p.storedSession(r)
	if err != nil || s == nil {
		return nil, err
	}
	found, err := p.db().UpstreamSession(r.Context(), s.Hash)
	if ok, err := p.confirmed(r, found, err); err != nil || !ok {
		return nil, err
	}
	return s, nil
}

// storedSession returns the session of the request as it is stored; nil: there is none.
func (p *Provider) storedSession(r *http.Request) (*identity.Session, error) {
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

// setCookie sets a cookie for maxAge seconds, or until the browser closes if maxAge is 0; it removes the cookie if
// value is empty. Because of their prefix, browsers accept our cookies only from us, for all paths of this host, and
// only if they are Secure, which http://localhost counts as.
func setCookie(w http.ResponseWriter, name, value string, maxAge int) {
	if value == "" {
		maxAge = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}
