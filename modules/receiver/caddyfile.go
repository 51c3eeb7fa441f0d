package receiver

import (
	"errors"
	"fmt"

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
		return nil, h.Err("export_receiver takes a block: write export_receiver {, below it tenant_from path 1, below that }")
	}
	head, seen := *h.Dispenser, map[string]bool{}
	for h.NextBlock(0) {
		option := h.Val()
		if seen[option] {
			return nil, h.Errf("%s is there twice: keep one of them", option)
		}
		seen[option] = true
		var err error
		switch option {
		case "tenant_from":
			handler.TenantFrom, err = ParseTenantFrom(h.RemainingArgs())
		case "max_body":
			handler.MaxBody, err = parseMaxBody(h.RemainingArgs())
		default:
			err = fmt.Errorf("%s is unknown here: write tenant_from or max_body", option)
		}
		if err != nil {
			return nil, h.WrapErr(err)
		}
	}
	if err := handler.TenantFrom.check(); err != nil {
		return nil, head.WrapErr(err)
	}
	return handler, nil
}

// largestMaxBody keeps a slip of the pen from taking all memory.
const largestMaxBody = 1 << 30

func parseMaxBody(args []string) (int64, error) {
	if len(args) != 1 {
		return 0, errors.New("max_body takes one argument: write, for example, `max_body 5MiB`")
	}
	size, err := humanize.ParseBytes(args[0])
	if err != nil || size < 1 || size > largestMaxBody {
		return 0, fmt.Errorf("max_body %q: write a size from 1B to 1GiB, such as 5MiB", args[0])
	}
	return int64(size), nil
}
