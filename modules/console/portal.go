package console

import (
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/gateway"
)

const (
	portalPath = "/portal"
	forPortals = "hiregate links of the console's portals"
)

// PortalLink makes the address that lets whoever has it into a portal.
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
	c.setCookie(w, c.cookie+"-portal", ticket, p.Till.Sub(c.Gateway.Now()))
	redirect(w, r, c.mount+pathOf("tenants", p.Tenant))
}

// visitorOfPortal returns the session of somebody who came by a link; false: nobody did.
func (c *Console) visitorOfPortal(r *http.Request) (*session, bool) {
	cookie, err := r.Cookie(c.cookie + "-portal")
	if err != nil {
		return nil, false
	}
	p := c.portalOf(cookie.Value)
	return &session{Portal: p}, p != nil
}

// portalDuties are what visitors of a portal may do.
func portalDuties(p *gateway.Portal) duty {
	if p.Bodies {
		return redelivers | reads
	}
	return redelivers
}

// portalPage is the form that makes a link, and the link that was made.
type portalPage struct {
	Tenant    string
	URL       string    `json:"url"` // empty: none was made yet
	ExpiresAt time.Time `json:"expiresAt"`
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
	body := map[string]bool{"bodies": v.PostForm.Get("bodies") == "yes"}
	if err := v.post(at("tenants", made.Tenant, "portal"), body, &made); err != nil {
		return err
	}
	return v.page(http.StatusOK, "portal", "Portal", made)
}
