package receiver

import (
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/gateway"
)

// Handler is the directive export_receiver: it receives the candidate export webhook, for every tenant.
type Handler struct {
	// TenantFrom is where the URL has the tenant's identifier. Required.
	TenantFrom TenantFrom `json:"tenant_from"`
	// MaxBody is the largest body in bytes. Default: 5 MiB.
	MaxBody int64 `json:"max_body,omitempty"`
	// MaxAttachments is how many attachments an export has at most. Default: 500.
	MaxAttachments int `json:"max_attachments,omitempty"`

	receiver Receiver
}

// CaddyModule implements caddy.Module.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.export_receiver", New: func() caddy.Module { return new(Handler) }}
}

// Provision connects the handler to the gateway.
func (h *Handler) Provision(ctx caddy.Context) error {
	if err := h.TenantFrom.check(); err != nil {
		return err
	}
	switch {
	case h.MaxBody == 0:
		h.MaxBody = DefaultMaxBody
	case h.MaxBody < 0 || h.MaxBody > largestMaxBody:
		return fmt.Errorf("export_receiver: max_body is %d bytes: give a number from 1 to %d", h.MaxBody, largestMaxBody)
	}
	switch {
	case h.MaxAttachments == 0:
		h.MaxAttachments = DefaultMaxAttachments
	case h.MaxAttachments < 0 || h.MaxAttachments > mostMaxAttachments:
		return fmt.Errorf("export_receiver: max_attachments is %d: give a number from 1 to %d", h.MaxAttachments,
			mostMaxAttachments)
	}
	g, err := gateway.Of(ctx, "export_receiver")
	if err != nil {
		return err
	}
	if err := checkMemory(h.MaxBody, g.Config.BodyMemory); err != nil {
		return fmt.Errorf("export_receiver: %w", err)
	}
	h.receiver = Receiver{Gateway: g, Tenant: h.TenantFrom, MaxBody: h.MaxBody, MaxAttachments: h.MaxAttachments,
		HookPath: originalPath, Log: ctx.Logger()}
	return nil
}

func originalPath(r *http.Request) string {
	if path, known := gateway.OriginalPath(r); known {
		return path
	}
	return r.URL.Path
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	h.receiver.Gateway.CloseWhenReplaced(w)
	defer gateway.LeastRate(r)()
	h.receiver.ServeHTTP(w, r)
	return nil
}

var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
