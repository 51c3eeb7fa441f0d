package modules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/apply/form"
)

// parseApplyForm reads the directive. Syntax:
//
//	apply_form {
//		tenant  <name>
//		origins <origin>...
//		name    <text>
//		logo    <file>
//		colour  <light> [<dark>]
//		privacy <url>
//		jobs    <url>
//		source  <text>
//	}
func parseApplyForm(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(ApplyForm)
	const example = "apply_form takes a block: write its options between { and }, each on a line of its own"
	texts := map[string]*string{"name": &handler.Name, "logo": &handler.Logo, "privacy": &handler.Privacy, "jobs": &handler.Jobs,
		"source": &handler.Source}
	err := app.Options(h, example, func(option string, args []string) (err error) {
		text := texts[option]
		switch {
		case option == "tenant":
			handler.Tenant, err = parseTenant(args)
			return err
		case option == "origins" && len(args) > 0:
			handler.Origins = args
		case option == "origins":
			return errors.New("origins takes one or more: write, for example, `origins https://www.acme.example`")
		case option == "colour" && (len(args) == 1 || len(args) == 2):
			handler.Light = "#" + strings.TrimPrefix(args[0], "#") // which begins a comment, unless it is quoted
			if len(args) == 2 {
				handler.Dark = "#" + strings.TrimPrefix(args[1], "#")
			}
			look := form.Look{Light: handler.Light, Dark: handler.Dark}
			return look.ValidateColours()
		case option == "colour":
			return errors.New("colour takes one for light pages, and perhaps one for dark pages: write, for example, `colour 1a6647 7fd1a7`, without #")
		case text == nil:
			return fmt.Errorf("%s is unknown here: write tenant, origins, name, logo, colour, privacy, jobs or source", option)
		case len(args) != 1:
			return fmt.Errorf("%s takes one argument: put quotes around a text of several words", option)
		default:
			*text = args[0]
		}
		return handler.validateOptions()
	})
	if err != nil {
		return nil, err
	}
	if err := handler.validate(); err != nil {
		return nil, h.Err(err.Error())
	}
	return handler, nil
}
