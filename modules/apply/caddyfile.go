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
	const example = "apply_api takes a block: write its options between { and }, each on a line of its own"
	return handler, gateway.Options(h, example, func(option string, args []string) (err error) {
		switch option {
		case "tenant":
			handler.Tenant, err = parseTenant(args)
		case "rate":
			handler.Rate, err = gateway.ParseRate(args)
		default:
			err = fmt.Errorf("%s is unknown here: write tenant or rate", option)
		}
		return err
	})
}

func parseTenant(args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("tenant takes one argument: write, for example, `tenant initech`")
	}
	return args[0], hiring.CheckTenantName(args[0])
}
