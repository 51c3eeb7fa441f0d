package signin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
)

// Upstream is another provider where people may sign in.
type Upstream struct {
	*oidcclient.Provider
	ID string // its name in our addresses; empty: it is the only one, and needs none
	Joins
	Disabled bool // nobody may; the addresses in its domains stay its own
}

// Joins says which new upstream accounts may sign in here.
type Joins struct {
	// Domains limit the accounts to those with an address there; empty: any. Such people sign in upstream alone. No other
	// upstream has the same one.
	Domains   []string
	Emergency []string // addresses in Domains that a password is good for as well
	KnownOnly bool     // an account whose address no user has is refused; otherwise it gets a user
}

const upstreamPath = "/oauth/upstream"

// path returns the path of an address at which an upstream sends people back, or tells us something.
func (u *Upstream) path(last string) string {
	if u.ID == "" {
		return upstreamPath + "/" + last
	}
	return upstreamPath + "/" + u.ID + "/" + last
}

// unnamed returns the only upstream, to which a button leads; nil: people's addresses decide.
func (p *Provider) unnamed() *Upstream {
	if len(p.Upstreams) == 1 && p.Upstreams[0].ID == "" {
		return p.Upstreams[0]
	}
	return nil
}

// asksAddressFirst reports whether an address decides where its owner signs in. A list of the upstreams would tell
// strangers who uses this service.
func (p *Provider) asksAddressFirst() bool { return len(p.Upstreams) > 0 && p.unnamed() == nil }

// upstreamOf returns the upstream that an address belongs to; nil: none.
func (p *Provider) upstreamOf(email string) *Upstream {
	n := slices.IndexFunc(p.Upstreams, func(u *Upstream) bool { return identity.InDomains(email, u.Domains) })
	if n < 0 {
		return nil
	}
	return p.Upstreams[n]
}

// onlyUpstream returns the upstream where alone people with an address sign in, not with a password; nil: none.
func (p *Provider) onlyUpstream(email string) *Upstream {
	u := p.upstreamOf(email)
	if u == nil || slices.ContainsFunc(u.Emergency, func(one string) bool { return identity.SameAddress(one, email) }) {
		return nil
	}
	return u
}

// upstreamAt returns the upstream of an issuer where people may sign in; nil: there is none.
func (p *Provider) upstreamAt(issuer string) *Upstream {
	n := slices.IndexFunc(p.Upstreams, func(u *Upstream) bool { return u.Issuer == issuer && !u.Disabled })
	if n < 0 {
		return nil
	}
	return p.Upstreams[n]
}

// leaveForm leads people to the upstream of their address.
type leaveForm struct{ Email, Button, Where string }

// leadTo leads people to the upstream of their address: a named one after they read where they go.
func (p *Provider) leadTo(w http.ResponseWriter, r *http.Request, a *authorization, u *Upstream, email string) error {
	t := textsFor(a.locales, r)
	if u.Disabled {
		p.messageIn(w, r, a.locales, http.StatusForbidden,
			func(t *texts) (string, string) { return t.OffTitle, p.fillAt(u, t.Off, "") })
		return nil
	}
	if u.ID == "" {
		a.loginHint = email
		return p.visitUpstream(w, r, a, u)
	}
	host := u.Issuer
	if at, err := url.Parse(u.Issuer); err == nil {
		host = at.Host
	}
	title := p.fillAt(u, t.LeaveTitle, "")
	p.render(w, r, http.StatusOK, &page{Text: t, Title: title, Lead: p.fill(t.SignInFor, a.client.Name), Request: a.raw,
		Leave:     &leaveForm{email, title, strings.ReplaceAll(t.Leave, "{host}", host)},
		permitted: leading(a.redirectURI, u.Issuer)})
	return nil
}
