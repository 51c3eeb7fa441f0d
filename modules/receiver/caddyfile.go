package receiver

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"
)

// ParseDirective reads the directive. Syntax:
//
//	export_receiver {
//		tenant_from path <n> | query <name>
//		max_body    <size>
//	}
func ParseDirective(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	h.Next() // the directive's name
	if h.NextArg() {
		return nil, h.Err("export_receiver takes a block: export_receiver { tenant_from path 1 }")
	}
	for h.NextBlock(0) {
		switch h.Val() {
		case "tenant_from":
			from, err := ParseTenantFrom(h.RemainingArgs())
			if err != nil {
				return nil, h.WrapErr(err)
			}
			handler.TenantFrom = from
		case "max_body":
			args := h.RemainingArgs()
			if len(args) != 1 {
				return nil, h.Err("max_body takes a size, such as 5MiB")
			}
			size, err := humanize.ParseBytes(args[0])
			if err != nil || size < 1 || size > 1<<30 {
				return nil, h.Errf("max_body %q: write a size from 1B to 1GiB, such as 5MiB", args[0])
			}
			handler.MaxBody = int64(size)
		default:
			return nil, h.Errf("%s is unknown here: write tenant_from or max_body", h.Val())
		}
	}
	if handler.TenantFrom.Segment == nil && handler.TenantFrom.Query == "" {
		return nil, h.Err("export_receiver: tenant_from is missing: write tenant_from path N or tenant_from query NAME")
	}
	return handler, nil
}
