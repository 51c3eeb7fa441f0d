package console

import (
	"net/http"
	"net/url"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/session"
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

// portalOf opens a ticket of PortalLink; nil: it is none, or no longer one.
func (c *Console) portalOf(ticket string) *gateway.Portal {
	p := new(gateway.Portal)
	if !c.Vault.OpenTicket(forPortals, c.URL, ticket, p) || !c.Gateway.Now().Before(p.Till) {
		return nil
	}
	return p
}

// enterPortal takes the ticket out of the address into a cookie. That is another one than of those who are signed in:
// a link can't take them out of their session.
func (c *Console) enterPortal(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	p := c.portalOf(ticket)
	if p == nil {
		c.fail(w, r, nil, errPortal)
		return
	}
	c.site().SetCookie(w, c.cookie+"-portal", ticket, p.Till.Sub(c.Gateway.Now()))
	session.Redirect(w, r, c.mount+pathOf("tenants", p.Tenant))
}

// visitorOfPortal returns a visitor who came by a link; nil: they did not.
func (c *Console) visitorOfPortal(r *http.Request) *caller {
	cookie, err := r.Cookie(c.cookie + "-portal")
	if err != nil {
		return nil
	}
	p := c.portalOf(cookie.Value)
	if p == nil {
		return nil
	}
	return &caller{Portal: p}
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
	body := api.PortalInput{Bodies: v.PostForm.Get("bodies") == "yes"}
	if err := v.post(at("tenants", made.Tenant, "portal"), body, &made.Portal); err != nil {
		return err
	}
	return v.page(http.StatusOK, "portal", "Portal", made)
}
