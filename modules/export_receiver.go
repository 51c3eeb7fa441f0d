package modules

import (
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/receiver"
	"github.com/hiregate/hiregate/schemas"
)

// ExportReceiver is the directive export_receiver: it receives the candidate export webhook, for every tenant.
type ExportReceiver struct {
	// TenantFrom names the part of the URL that holds the tenant's identifier. Required.
	TenantFrom receiver.TenantFrom `json:"tenant_from"`
	// MaxBody is the largest body in bytes. Default: 5 MiB.
	MaxBody int64 `json:"max_body,omitempty"`
	// MaxAttachments limits the attachments of an export. Default: 500.
	MaxAttachments int `json:"max_attachments,omitempty"`
	// MaxValues limits the arrays, objects and scalars of a body. Default: 20,000.
	MaxValues int `json:"max_values,omitempty"`
	// MaxItems limits the elements of each array of a body. Default: 2,000, or max_attachments if that is more.
	MaxItems int `json:"max_items,omitempty"`

	receiver receiver.Receiver
}

// CaddyModule implements caddy.Module.
func (ExportReceiver) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.export_receiver", New: func() caddy.Module { return new(ExportReceiver) }}
}

// Provision connects the handler to the gateway.
func (h *ExportReceiver) Provision(ctx caddy.Context) error {
	if err := h.TenantFrom.Validate(); err != nil {
		return err
	}
	switch {
	case h.MaxBody == 0:
		h.MaxBody = receiver.DefaultMaxBody
	case h.MaxBody < 0 || h.MaxBody > largestMaxBody:
		return fmt.Errorf("export_receiver: max_body is %d bytes: give a number from 1 to %d", h.MaxBody, largestMaxBody)
	}
	for _, n := range h.numbers() {
		if err := n.complete(); err != nil {
			return fmt.Errorf("export_receiver: %w", err)
		}
	}
	g, err := app.Of(ctx, "export_receiver")
	if err != nil {
		return err
	}
	if err := checkMemory(h.MaxBody, g.Config.BodyMemory); err != nil {
		return fmt.Errorf("export_receiver: %w", err)
	}
	h.receiver = receiver.Receiver{Gateway: g, Tenant: h.TenantFrom, MaxBody: h.MaxBody, MaxAttachments: h.MaxAttachments,
		Limits:  schemas.Limits{Values: h.MaxValues, Items: max(h.MaxItems, h.MaxAttachments)},
		Address: clientAddress, LogUUID: logUUID, Log: ctx.Logger()}
	return nil
}

// TenantSegment returns the segment of the path that holds the tenant; false: a query parameter holds it.
func (h *ExportReceiver) TenantSegment() (int, bool) {
	if h.TenantFrom.Segment == nil {
		return 0, false
	}
	return *h.TenantFrom.Segment, true
}

// TenantParameter returns the name of the query parameter that holds the tenant; empty: a segment of the path does.
func (h *ExportReceiver) TenantParameter() string { return h.TenantFrom.Query }

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *ExportReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serve(h.receiver.Gateway, &h.receiver, w, r)
}

// logUUID adds the UUID of a request's export to the access log, if there is one.
func logUUID(r *http.Request, uuid string) {
	if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Add(zap.String("uuid", uuid))
	}
}
