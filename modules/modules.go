// Package modules is everything that hiregate adds to Caddy. This page registers it; each directive has a file. The
// handlers themselves are plain net/http, in the packages below.
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

	caddy.RegisterModule(ExportReceiver{})
	directive("export_receiver", parseExportReceiver)

	caddy.RegisterModule(Documents{})
	directive("documents", parseDocuments)

	caddy.RegisterModule(Healthz{})
	directive("healthz", parseHealthz)

	caddy.RegisterModule(Welcome{})
	directive("welcome", parseWelcome)

	caddy.RegisterModule(ManageAdmin{})
	caddy.RegisterModule(ManageAPI{})
	directive("manage_api", parseManageAPI)

	caddy.RegisterModule(ApplyAPI{})
	directive("apply_api", parseApplyAPI)

	caddy.RegisterModule(SignIn{})
	directive("signin", parseSignIn)

	caddy.RegisterModule(Console{})
	directive("console", parseConsole)
}

// directive registers a handler's directive. Each of ours answers by itself, as respond does, and is ordered beside it.
func directive(name string, parse httpcaddyfile.UnmarshalHandlerFunc) {
	httpcaddyfile.RegisterHandlerDirective(name, parse)
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "respond")
}

// noOptions refuses whatever follows a directive that takes no options, with a sentence.
func noOptions(h httpcaddyfile.Helper, sentence string) error {
	h.Next()
	app.Note(h)
	if h.NextArg() || h.NextBlock(0) {
		return h.Err(sentence)
	}
	return nil
}

var _ = []caddy.Provisioner{(*ExportReceiver)(nil), (*Documents)(nil), (*Healthz)(nil), (*ManageAPI)(nil),
	(*ApplyAPI)(nil), (*SignIn)(nil), (*Console)(nil)}

var _ caddy.AdminRouter = ManageAdmin{}
