package modules

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/gateway"
	app "github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// ManageAPI is the directive manage_api: it serves the management API to holders of an API key. Put it into
// handle_path, which strips the path of the mount. It takes no options.
type ManageAPI struct {
	gateway *gateway.Gateway
	api     http.Handler
}

// CaddyModule implements caddy.Module.
func (ManageAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.manage_api", New: func() caddy.Module { return new(ManageAPI) }}
}

// Provision connects the handler to the gateway.
func (h *ManageAPI) Provision(ctx caddy.Context) (err error) {
	if h.gateway, err = app.Of(ctx, "manage_api"); err != nil {
		return err
	}
	h.api = manageapi.NewKeyed(func() *gateway.Gateway { return h.gateway }, ctx.Logger())
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *ManageAPI) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serve(h.gateway, h.api, w, r)
}

// ManageAdmin serves the management API at Caddy's admin endpoint, below /hiregate: for the command line on the same
// machine. The global option admin decides who may reach that endpoint. It needs no configuration.
type ManageAdmin struct{}

// CaddyModule implements caddy.Module.
func (ManageAdmin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.hiregate", New: func() caddy.Module { return new(ManageAdmin) }}
}

// Routes implements caddy.AdminRouter. It looks the gateway up with each request: a module of the admin endpoint is not
// notified when its configuration ends, so it must hold nothing of it.
func (ManageAdmin) Routes() []caddy.AdminRoute {
	const mount = "/hiregate"
	api := http.StripPrefix(mount, manageapi.New(gateway.Current, caddy.Log().Named("hiregate.manage")))
	return []caddy.AdminRoute{{Pattern: mount + "/",
		Handler: caddy.AdminHandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			api.ServeHTTP(w, r)
			return nil
		})}}
}
