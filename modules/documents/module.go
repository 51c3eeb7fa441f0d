package documents

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/gateway"
)

// Handler is the directive documents: it serves documents under the public URLs in exports,
// <public_url>/documents/<token>. It has no options.
type Handler struct {
	server Server
}

// CaddyModule implements caddy.Module.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.documents", New: func() caddy.Module { return new(Handler) }}
}

// ParseDirective reads the directive: documents
func ParseDirective(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next()
	if h.NextArg() || h.NextBlock(0) {
		return nil, h.Err(
			"documents takes no options: leave out what follows it; the folder is named in the global option hiregate")
	}
	return new(Handler), nil
}

// Provision connects the handler to the gateway.
func (h *Handler) Provision(ctx caddy.Context) error {
	g, err := gateway.Of(ctx, "documents")
	if err != nil {
		return err
	}
	h.server = Server{Gateway: g, Log: ctx.Logger()}
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
