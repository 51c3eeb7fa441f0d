package apply

import (
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/modules/gateway"
)

// ParseDirective reads the directive. Syntax:
//
//	apply_api {
//		tenant <name>
//		rate   <n>/s|m|h [burst <n>]
//	}
func ParseDirective(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	h.Next() // the directive's name
	if h.NextArg() {
		return nil, h.Err("apply_api takes a block: write its options between { and }, each on a line of its own")
	}
	seen := map[string]bool{}
	for h.NextBlock(0) {
		option := h.Val()
		if seen[option] {
			return nil, h.Errf("%s is there twice: keep one of them", option)
		}
		seen[option] = true
		var err error
		switch args := h.RemainingArgs(); option {
		case "tenant":
			handler.Tenant, err = parseTenant(args)
		case "rate":
			handler.Rate, err = gateway.ParseRate(args)
		default:
			err = fmt.Errorf("%s is unknown here: write tenant or rate", option)
		}
		if err != nil {
			return nil, h.WrapErr(err)
		}
	}
	return handler, nil
}

func parseTenant(args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("tenant takes one argument: the tenant's name")
	}
	return args[0], hiring.CheckTenantName(args[0])
}
