package manage

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/hiregate/hiregate/modules/gateway"
)

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

var _ caddy.AdminRouter = Admin{}
