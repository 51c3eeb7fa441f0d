package manageapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var (
	noConsole = problem.New(http.StatusConflict,
		"this gateway has no console that the link could lead to: mount the directive console in its Caddyfile")
	noPortal = problem.New(http.StatusNotFound, "this tenant has no link of that id, or it has ended")
)

// portals serves the links with which clients look at their exports. None of its answers has a link itself.
var portals = rest.Resource[*model.PortalLink]{
	Path: rest.InTenant + "/portals", ID: "id", Kind: "portal", Reader: model.Operator, Writer: model.Operator,
	List: func(r *rest.Request) ([]*model.PortalLink, string, error) {
		return r.DB.ListPortalLinks(r.Context(), r.Tenant.Name, r.Now(), r.Page.Rows())
	},
	View: rest.ViewAs(func(l *model.PortalLink) api.PortalLink {
		return api.PortalLink{ID: l.ID, Label: l.Label, Bodies: l.Bodies, MadeBy: l.MadeBy, CreatedAt: l.CreatedAt,
			ExpiresAt: l.ExpiresAt, OpenedAt: l.OpenedAt}
	}),
	Drop: func(r *rest.Request) (any, error) {
		return nil, r.Update(func(tx *store.Tx) error {
			ended, err := tx.RevokePortalLink(r.Tenant.Name, r.PathValue("id"), r.Gateway.Now())
			if err == nil && !ended {
				err = noPortal
			}
			return err
		})
	},
}

// openPortal makes a link with which a client sees what became of its exports, for an hour.
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
	made := &model.PortalLink{ID: p.ID, Tenant: p.Tenant, Label: in.Label, Bodies: p.Bodies, MadeBy: r.Caller.Author(),
		CreatedAt: r.Now(), ExpiresAt: p.Till}
	if err := rest.Invalid(made.ValidateLabel()); err != nil {
		return nil, err
	}
	address, err := link(p)
	if err != nil {
		return nil, err
	}
	r.Object = "portals/" + p.ID
	if err := r.Update(func(tx *store.Tx) error { return tx.InsertPortalLink(made) }); err != nil {
		return nil, err
	}
	return api.Portal{ID: p.ID, URL: address, Bodies: p.Bodies, ExpiresAt: p.Till}, nil
}
