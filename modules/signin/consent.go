package signin

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// askForConsent asks a user who is signed in for their consent, if the request or the client demands it; otherwise it
// sends the code.
func (p *Provider) askForConsent(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session) error {
	if admitted, err := p.admits(w, r, a, s); err != nil || !admitted {
		return err
	}
	ask := a.prompts("consent")
	if !ask && a.client.Consent {
		had, err := p.db().ConsentedScope(r.Context(), s.UserID, a.client.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ask = errors.Is(err, store.ErrNotFound) || !covers(had, a.consentScope())
	}
	switch {
	case !ask:
		return p.sendCode(w, r, a, s, false)
	case a.prompts("none"):
		return badRequest("consent_required", "the user was not asked yet")
	default:
		return p.consentPage(w, r, a, s)
	}
}

// consentScope returns the scope that the user consents to: the requested one, and the scopes of the claims that are
// requested by name.
func (a *authorization) consentScope() string {
	all := strings.Fields(a.scope)
	for _, c := range userClaims {
		if a.claims.names(c.name) && !slices.Contains(all, c.scope) {
			all = append(all, c.scope)
		}
	}
	return strings.Join(all, " ")
}

// consentTicket proves that the consent page was shown to this session, at a time when it met the request. The browser
// returns it, sealed, with the answer. So a user who has signed in since in another tab does not agree for the first,
// and a request that demands a new sign-in is not answered without one.
type consentTicket struct {
	Session identity.Hash
	Request string // the authorization request
	At      time.Time
}

// consentForm is the form that asks for consent.
type consentForm struct {
	Ticket string
	Learns []string // what the application will learn
}

func (p *Provider) consentPage(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session) error {
	ticket, err := p.Vault.SealTicket(forConsent, p.Issuer, &consentTicket{Session: s.Hash, Request: a.raw, At: p.now()})
	if err != nil {
		return err
	}
	t := textsFor(a.locales, r)
	learns := []string{t.ConsentSub}
	for _, s := range strings.Fields(a.consentScope()) {
		if text := map[string]string{"profile": t.ConsentProfile, "email": t.ConsentEmail, "groups": t.ConsentGroups}[s]; text != "" {
			learns = append(learns, text)
		}
	}
	learns = append(learns, t.ConsentOffline) // every application gets a refresh token
	p.render(w, r, http.StatusOK, &page{Text: t, Title: p.fill(t.ConsentTitle, a.client.Name),
		Lead:    p.fill(t.ConsentFor, a.client.Name),
		Consent: &consentForm{ticket, learns}, permitted: leading(a.redirectURI)})
	return nil
}

// consent handles the form that asks for consent.
func (p *Provider) consent(w http.ResponseWriter, r *http.Request) {
	var ticket consentTicket
	if !p.Vault.OpenTicket(forConsent, p.Issuer, r.PostForm.Get("ticket"), &ticket) {
		p.untrustedPage(w, r)
		return
	}
	p.run(w, r, ticket.Request, func(w http.ResponseWriter, r *http.Request, a *authorization) error {
		return p.checkConsent(w, r, a, &ticket)
	})
}

func (p *Provider) checkConsent(w http.ResponseWriter, r *http.Request, a *authorization,
	ticket *consentTicket) error {
	if r.PostForm.Get("action") != "allow" {
		return badRequest("access_denied", "the user does not agree")
	}
	s, err := p.session(r)
	if err != nil {
		return err
	}
	switch now := p.now(); {
	case s == nil || s.Hash != ticket.Session:
		p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
	case !a.satisfiedBy(s, now) && now.Sub(ticket.At) > ticketLife:
		p.expiredPage(w, r, a)
	default:
		return p.sendCode(w, r, a, s, true)
	}
	return nil
}
