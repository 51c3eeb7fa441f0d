package modules

import (
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/apply"
)

// ApplyAPI is the directive apply_api: it serves the Apply API. Put it into handle_path, which strips the path of the
// mount.
type ApplyAPI struct {
	// Tenant is the only tenant that is served here. Default: each user is served as its own tenant's.
	Tenant string `json:"tenant,omitempty"`
	// Rate limits the requests of each user. Default: 20 a second, 100 at once.
	Rate *app.Rate `json:"rate,omitempty"`

	api *apply.API
}

// applyGuards returns the guards of a gateway's applications: a reload must not reset anybody's failures.
func applyGuards(g *gateway.Gateway) *apply.Guards {
	return gateway.Kept(g.Runtime, func() *apply.Guards { return apply.NewGuards(time.Now) })
}

// CaddyModule implements caddy.Module.
func (ApplyAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.apply_api", New: func() caddy.Module { return new(ApplyAPI) }}
}

// Provision connects the handler to the gateway.
func (h *ApplyAPI) Provision(ctx caddy.Context) error {
	if h.Tenant != "" {
		if err := model.ValidateTenantName(h.Tenant); err != nil {
			return fmt.Errorf("apply_api: %w", err)
		}
	}
	limit := apply.DefaultRate
	if h.Rate != nil {
		if err := h.Rate.Validate(); err != nil {
			return fmt.Errorf("apply_api: %w", err)
		}
		limit = model.Rate(*h.Rate)
	}
	g, err := app.Of(ctx, "apply_api")
	if err != nil {
		return err
	}
	h.api = apply.New(apply.API{Gateway: g, Tenant: h.Tenant, Rate: limit, Guards: applyGuards(g), Address: clientAddress,
		Log: ctx.Logger()})
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *ApplyAPI) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serve(h.api.Gateway, h.api, w, r)
}
