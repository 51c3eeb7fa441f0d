// Package modules adds hiregate to Caddy. Each directive has a file of its name, with its settings and their checks, and
// one that ends in _caddyfile.go, with the parser, if it takes options. The handlers themselves are plain net/http, in
// the packages below.
package modules

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/listener"
)

func init() {
	caddy.RegisterModule(app.App{})
	httpcaddyfile.RegisterGlobalOption("hiregate", app.ParseOption)

	caddy.RegisterNetwork(listener.Network, listener.Listen(app.Prepare))
	caddyhttp.RegisterNetworkHTTP3(listener.Network, "udp")

	directive("export_receiver", ExportReceiver{}, parseExportReceiver)
	directive("apply_api", ApplyAPI{}, parseApplyAPI)
	directive("apply_form", ApplyForm{}, parseApplyForm)
	directive("signin", SignIn{}, parseSignIn)
	directive("console", Console{}, parseConsole)
	directive("manage_api", ManageAPI{}, withoutOptions(""))
	directive("documents", Documents{}, withoutOptions("; the folder is named in the global option hiregate"))
	directive("healthz", Healthz{}, withoutOptions(""))
	directive("welcome", Welcome{}, withoutOptions(""))
	caddy.RegisterModule(ManageAdmin{})

	// A gate stands before all that answers, and sees paths as they were sent.
	caddy.RegisterModule(SignInGate{})
	httpcaddyfile.RegisterHandlerDirective("signin_gate", parseSignInGate)
	httpcaddyfile.RegisterDirectiveOrder("signin_gate", httpcaddyfile.Before, "redir")
}

// directive registers a handler and its directive. These handlers answer every request, as respond does, and so are
// ordered beside it.
func directive(name string, handler caddy.Module, parse httpcaddyfile.UnmarshalHandlerFunc) {
	caddy.RegisterModule(handler)
	httpcaddyfile.RegisterHandlerDirective(name, parse)
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "respond")
}

// withoutOptions returns the parser of a directive that takes no options. hint ends the sentence that refuses them.
func withoutOptions(hint string) httpcaddyfile.UnmarshalHandlerFunc {
	return func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		name := h.Val()
		app.Note(h)
		if h.NextArg() || h.NextBlock(0) {
			return nil, h.Errf("%s takes no options: leave out what follows it%s", name, hint)
		}
		module, err := caddy.GetModule("http.handlers." + name)
		if err != nil {
			return nil, err
		}
		return module.New().(caddyhttp.MiddlewareHandler), nil
	}
}

var _ = []caddy.Provisioner{(*ExportReceiver)(nil), (*Documents)(nil), (*Healthz)(nil), (*ManageAPI)(nil),
	(*ApplyAPI)(nil), (*ApplyForm)(nil), (*SignIn)(nil), (*Console)(nil), (*SignInGate)(nil)}

var _ caddy.AdminRouter = ManageAdmin{}
