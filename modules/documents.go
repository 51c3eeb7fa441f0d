package modules

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/documents"
)

// Documents is the directive documents: it serves documents under the public URLs in exports,
// <public_url>/documents/<token>. It has no options.
type Documents struct {
	server *documents.Server
}

// CaddyModule implements caddy.Module.
func (Documents) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.documents", New: func() caddy.Module { return new(Documents) }}
}

// Provision connects the handler to the gateway.
func (h *Documents) Provision(ctx caddy.Context) error {
	g, err := app.Of(ctx, "documents")
	if err != nil {
		return err
	}
	h.server = &documents.Server{Gateway: g, Log: ctx.Logger()}
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *Documents) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serve(h.server.Gateway, h.server, w, r)
}
