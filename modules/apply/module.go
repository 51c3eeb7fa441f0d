package apply

import (
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/modules/gateway"
)

// Handler is the directive apply_api: it serves the Apply API. Put it into handle_path, which strips the path of the
// mount.
type Handler struct {
	// Tenant is the only tenant that is served here. Default: each user is served as its own tenant's.
	Tenant string `json:"tenant,omitempty"`
	// Rate is how many requests a user may send. Default: 20 a second, 100 at once.
	Rate *gateway.Rate `json:"rate,omitempty"`

	api *API
}

// guards outlive a configuration: a reload must not reset anybody's failures.
var guards = NewGuards(time.Now)

// CaddyModule implements caddy.Module.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.apply_api", New: func() caddy.Module { return new(Handler) }}
}

// Provision connects the handler to the gateway.
func (h *Handler) Provision(ctx caddy.Context) error {
	if h.Tenant != "" {
		if err := hiring.CheckTenantName(h.Tenant); err != nil {
			return fmt.Errorf("apply_api: %w", err)
		}
	}
	limit := DefaultRate
	if h.Rate != nil {
		if err := h.Rate.Check(); err != nil {
			return fmt.Errorf("apply_api: %w", err)
		}
		limit = hiring.Rate(*h.Rate)
	}
	g, err := gateway.Of(ctx, "apply_api")
	if err != nil {
		return err
	}
	h.api = New(API{Gateway: g, Tenant: h.Tenant, Rate: limit, Guards: guards, Address: gateway.ClientAddress(ctx),
		Log: ctx.Logger()})
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	h.api.Gateway.CloseWhenReplaced(w)
	defer gateway.LeastRate(r)()
	h.api.ServeHTTP(w, r)
	return nil
}

var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
