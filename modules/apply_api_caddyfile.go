package modules

import (
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/app"
)

// parseApplyAPI reads the directive. Syntax:
//
//	apply_api {
//		tenant <name>
//		rate   <n>/s|m|h [burst <n>]
//	}
func parseApplyAPI(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(ApplyAPI)
	const example = "apply_api takes a block: write its options between { and }, each on a line of its own"
	return handler, app.Options(h, example, func(option string, args []string) (err error) {
		switch option {
		case "tenant":
			handler.Tenant, err = parseTenant(args)
		case "rate":
			handler.Rate, err = app.ParseRate(args)
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
	return args[0], model.ValidateTenantName(args[0])
}
