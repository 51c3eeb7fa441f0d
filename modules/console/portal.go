package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	portalPath = "/portal"
	forPortals = "hiregate links of the console's portals"
)

// PortalLink returns the address that lets everyone who has it into a portal.
func (c *Console) PortalLink(p gateway.Portal) (string, error) {
	ticket, err := c.Vault.SealTicket(forPortals, c.URL, p)
	return c.URL + portalPath + "?" + url.Values{"ticket": {ticket}}.Encode(), err
}

// portalOf opens a ticket of PortalLink; nil: it is none, or no longer one. It is looked up each time whether it was revoked.
func (c *Console) portalOf(ctx context.Context, ticket string) (*gateway.Portal, *model.PortalLink, error) {
	p := new(gateway.Portal)
	if !c.Vault.OpenTicket(forPortals, c.URL, ticket, p) || !c.Gateway.Now().Before(p.Till) {
		return nil, nil, nil
	}
	link, err := c.db().PortalLink(ctx, p.Tenant, p.ID)
	switch {
	case errors.Is(err, store.ErrNotFound): // a gateway of an earlier version made it
		return p, nil, nil
	case err != nil || !link.RevokedAt.IsZero():
		return nil, nil, err
	}
	return p, link, nil
}

// opened is how often the opening of a link is noted at most.
const opened = time.Minute

// enterPortal takes the ticket out of the address into a cookie. That is another one than of those who are signed in:
// a link can't take them out of their session.
func (c *Console) enterPortal(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	p, link, err := c.portalOf(r.Context(), ticket)
	if err == nil && p == nil {
		err = errPortal
	}
	if now := c.Gateway.Now(); err == nil && link != nil && now.Sub(link.OpenedAt) >= opened {
		err = c.db().Write(r.Context(), func(tx *store.Tx) error { return tx.OpenPortalLink(p.Tenant, p.ID, now, now.Add(-opened)) })
	}
	if err != nil {
		c.fail(w, r, nil, err)
		return
	}
	c.site().SetCookie(w, c.cookie+"-portal", ticket, p.Till.Sub(c.Gateway.Now()))
	session.Redirect(w, r, c.mount+pathOf("tenants", p.Tenant))
}

// visitorOfPortal returns a visitor who came by a link; nil: they did not.
func (c *Console) visitorOfPortal(r *http.Request) (*caller, error) {
	cookie, err := r.Cookie(c.cookie + "-portal")
	if err != nil {
		return nil, nil
	}
	p, _, err := c.portalOf(r.Context(), cookie.Value)
	if err != nil || p == nil {
		return nil, err
	}
	return &caller{Portal: p}, nil
}

// portalDuties returns what visitors of a portal may do.
func portalDuties(p *gateway.Portal) duty {
	if p.Bodies {
		return redelivers | reads
	}
	return redelivers
}

// withoutAddresses removes from an export what only operators see: the address of Temporal's UI, and the addresses of
// integrations in the operator's network.
func (e *export) withoutAddresses() {
	e.WorkflowURL = ""
	for n := range e.Deliveries {
		for m := range e.Deliveries[n].History {
			e.Deliveries[n].History[m].Address = ""
		}
	}
}

// portalPage is the template data of the form that makes a link, and of the link that was made.
type portalPage struct {
	Tenant     string
	api.Portal // without a URL: none was made yet
}

func showPortal(v *visitor) error {
	if err := v.get(at("tenants", v.PathValue("tenant")), nil, nil); err != nil {
		return err
	}
	return v.page(http.StatusOK, "portal", "Portal", portalPage{Tenant: v.PathValue("tenant")})
}

// openPortal makes a link, and shows it.
func openPortal(v *visitor) error {
	made := portalPage{Tenant: v.PathValue("tenant")}
	body := api.PortalInput{Label: strings.TrimSpace(v.PostForm.Get("label")), Bodies: v.PostForm.Get("bodies") == "yes"}
	if err := v.post(at("tenants", made.Tenant, "portal"), body, &made.Portal); err != nil {
		return err
	}
	return v.page(http.StatusOK, "portal", "Portal", made)
}

// revokePortal ends a link, also where it is open.
func revokePortal(v *visitor) error {
	if err := v.call(http.MethodDelete, at("tenants", v.PathValue("tenant"), "portals", v.PathValue("id")), nil, nil, nil); err != nil {
		return err
	}
	return v.toTenant("portal-revoked")
}
