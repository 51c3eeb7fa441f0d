package modules

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
)

// parseConsole reads the directive. Syntax:
//
//	console {
//		key           <placeholder...>
//		issuer        <url>
//		client_id     <id>
//		client_secret <placeholder>
//		ca            <file>
//		url           <url>
//		title         <text>
//		environment   <word>
//		roles {
//			<role> [<tenant> | labels <name>=<value...>] email|group <value...>
//		}
//	}
func parseConsole(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler, dev := new(Console), app.Development(h)
	head := *h.Dispenser
	head.Next() // the directive's name
	const example = "console takes a block: write console {, below it key and roles, and then }"
	texts := map[string]*string{"client_id": &handler.ClientID, "client_secret": &handler.ClientSecret,
		"url": &handler.URL, "issuer": &handler.Issuer, "title": &handler.Title,
		"environment": &handler.Environment, "ca": &handler.CA}
	err := app.Options(h, example, func(option string, args []string) error {
		target, known := texts[option]
		switch {
		case option == "roles":
			return handler.roles(h, args)
		case option == "key":
			handler.Keys = args
			return consoleKey.ValidateArgs(args, "{env.HIREGATE_CONSOLE_KEY}", dev)
		case !known:
			return fmt.Errorf("%s is unknown here: write key, roles, issuer, client_id, client_secret, ca, url, title or "+
				"environment", option)
		case len(args) != 1 || args[0] == "":
			return fmt.Errorf("%s takes one argument", option)
		}
		*target = args[0]
		switch option {
		case "client_secret":
			return app.ValidateClientSecret("console", args[0], dev)
		case "url", "issuer":
			return checkConsoleAddress(option, args[0], dev)
		}
		return nil
	})
	if err == nil {
		if err = handler.check(); err != nil {
			err = head.WrapErr(err)
		}
	}
	return handler, err
}

// roles reads the block roles.
func (h *Console) roles(d httpcaddyfile.Helper, args []string) error {
	if len(args) > 0 {
		return errors.New("roles takes a block: write roles {, below it lines such as " +
			"`administrator email ops@example.com`, and then }")
	}
	for d.NextBlock(1) {
		r := ConsoleRole{Role: d.Val(), Source: fmt.Sprintf("%s:%d", filepath.Base(d.File()), d.Line())}
		rest := d.RemainingArgs()
		people := max(0, slices.IndexFunc(rest, func(word string) bool { return word == "email" || word == "group" }))
		of, rest := rest[:people], rest[people:]
		switch {
		case len(of) > 1 && of[0] == "labels":
			r.Labels = of[1:]
		case len(of) == 1:
			r.Tenant = of[0]
		case len(of) > 1:
			return fmt.Errorf("console: %s is more than one tenant: write a line for each, or `%s labels region=north email …`",
				strings.Join(of, " "), r.Role)
		}
		switch {
		case len(rest) > 1 && rest[0] == "email":
			r.Emails = rest[1:]
		case len(rest) > 1 && rest[0] == "group":
			r.Groups = rest[1:]
		}
		if err := r.validate(); err != nil {
			return err
		}
		h.Roles = append(h.Roles, r)
	}
	return nil
}
