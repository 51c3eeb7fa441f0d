package healthz

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/gateway"
)

// Handler is the directive healthz: it reports what is reachable, and answers 503 when exports can't be accepted, or
// the process ends. The last segment of the path selects the question: see Server. It has no options.
type Handler struct {
	server *Server
}

// CaddyModule implements caddy.Module.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.healthz", New: func() caddy.Module { return new(Handler) }}
}

// ParseDirective reads the directive: healthz
func ParseDirective(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next()
	if h.NextArg() || h.NextBlock(0) {
		return nil, h.Err("healthz takes no options: leave out what follows it")
	}
	return new(Handler), nil
}

// Provision connects the handler to the gateway.
func (h *Handler) Provision(ctx caddy.Context) error {
	g, err := gateway.Of(ctx, "healthz")
	if err != nil {
		return err
	}
	h.server = &Server{Gateway: g, Stopping: caddy.Exiting}
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	h.server.Gateway.CloseWhenReplaced(w)
	h.server.ServeHTTP(w, r)
	return nil
}

var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
