package modules

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/healthz"
)

// Healthz is the directive healthz: it reports what is reachable, and answers 503 if exports can't be accepted or the
// process is ending. The last part of the path chooses the report, see healthz.Server. It takes no options.
type Healthz struct {
	server *healthz.Server
}

// CaddyModule implements caddy.Module.
func (Healthz) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.healthz", New: func() caddy.Module { return new(Healthz) }}
}

// Provision connects the handler to the gateway.
func (h *Healthz) Provision(ctx caddy.Context) error {
	g, err := app.Of(ctx, "healthz")
	if err != nil {
		return err
	}
	h.server = &healthz.Server{Gateway: g}
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself, however many are in progress.
func (h *Healthz) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serveAlways(h.server.Gateway, h.server, w, r)
}
