package manageapi

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/problem"
)

// portalTime is how long the link of a portal works.
const portalTime = time.Hour

// portal is what is answered to whoever makes a link for a partner.
type portal struct {
	ID        string    `json:"id"`  // what its visitors do is in the audit under portal:<id>
	URL       string    `json:"url"` // whoever has it may look
	Bodies    bool      `json:"bodies"`
	ExpiresAt time.Time `json:"expiresAt"`
}

var noConsole = problem.New(http.StatusConflict,
	"this gateway has no console that the link could lead to: mount the directive console in its Caddyfile")

// openPortal makes a link with which a partner sees what became of the exports of its tenant, for an hour.
func openPortal(r *request) (any, error) {
	in, err := decodeAny[struct {
		Bodies bool `json:"bodies"`
	}](r)
	if err != nil {
		return nil, err
	}
	link := r.gateway.PortalLink
	if link == nil {
		return nil, noConsole
	}
	p := gateway.Portal{ID: uuid.NewString(), Tenant: r.tenant.Name, Bodies: in.Bodies, Till: r.now().Add(portalTime)}
	address, err := link(p)
	if err != nil {
		return nil, err
	}
	r.object = "portals/" + p.ID
	if err := r.auditAlone(); err != nil {
		return nil, err
	}
	return portal{p.ID, address, p.Bodies, p.Till}, nil
}
