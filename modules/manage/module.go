package manage

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/gateway"
)

// Handler is the directive manage_api: it serves the management API to those who have an API key. Put it into handle_path,
// which takes the path of the mount off. It takes no options.
type Handler struct {
	api *API
}

// CaddyModule implements caddy.Module.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.manage_api", New: func() caddy.Module { return new(Handler) }}
}

// Provision joins the handler to the gateway.
func (h *Handler) Provision(ctx caddy.Context) error {
	g, err := gateway.Of(ctx, "manage_api")
	if err != nil {
		return err
	}
	h.api = NewKeyed(func() *gateway.Gateway { return g }, ctx.Logger())
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	h.api.gateway().CloseWhenReplaced(w)
	defer gateway.LeastRate(r)()
	h.api.ServeHTTP(w, r)
	return nil
}

// Admin serves the management API at Caddy's admin endpoint, below /hiregate: for the command line on the same machine. Who
// may reach that endpoint is up to the global option admin. It is there without being configured.
type Admin struct{}

// CaddyModule implements caddy.Module.
func (Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.hiregate", New: func() caddy.Module { return new(Admin) }}
}

// Routes implements caddy.AdminRouter. The gateway is looked for with each request: a module of the admin endpoint is not
// told when its configuration ends, so it must hold nothing of it.
func (Admin) Routes() []caddy.AdminRoute {
	const mount = "/hiregate"
	api := http.StripPrefix(mount, New(gateway.Current, caddy.Log().Named("hiregate.manage")))
	return []caddy.AdminRoute{{Pattern: mount + "/", Handler: caddy.AdminHandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		api.ServeHTTP(w, r)
		return nil
	})}}
}

var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ caddy.AdminRouter           = Admin{}
)
