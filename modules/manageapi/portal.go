package manageapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var noConsole = problem.New(http.StatusConflict,
	"this gateway has no console that the link could lead to: mount the directive console in its Caddyfile")

// openPortal makes a link with which a partner sees what became of the exports of its tenant, for an hour.
func openPortal(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.PortalInput](r)
	if err != nil {
		return nil, err
	}
	link := r.Gateway.PortalLink
	if link == nil {
		return nil, noConsole
	}
	p := gateway.Portal{ID: uuid.NewString(), Tenant: r.Tenant.Name, Bodies: in.Bodies, Till: r.Now().Add(gateway.PortalTime)}
	address, err := link(p)
	if err != nil {
		return nil, err
	}
	r.Object = "portals/" + p.ID
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return api.Portal{ID: p.ID, URL: address, Bodies: p.Bodies, ExpiresAt: p.Till}, nil
}
