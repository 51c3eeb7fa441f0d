// Package modules registers everything that hiregate adds to Caddy, on one page.
package modules

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/apply"
	"github.com/hiregate/hiregate/modules/documents"
	"github.com/hiregate/hiregate/modules/gateway"
	"github.com/hiregate/hiregate/modules/healthz"
	"github.com/hiregate/hiregate/modules/listener"
	"github.com/hiregate/hiregate/modules/manage"
	"github.com/hiregate/hiregate/modules/receiver"
	"github.com/hiregate/hiregate/modules/signin"
)

func init() {
	caddy.RegisterModule(gateway.App{})
	httpcaddyfile.RegisterGlobalOption("hiregate", gateway.ParseOption)

	caddy.RegisterNetwork(listener.Network, listener.Listen)
	caddyhttp.RegisterNetworkHTTP3(listener.Network, "udp")

	caddy.RegisterModule(receiver.Handler{})
	directive("export_receiver", receiver.ParseDirective)

	caddy.RegisterModule(documents.Handler{})
	directive("documents", documents.ParseDirective)

	caddy.RegisterModule(healthz.Handler{})
	directive("healthz", healthz.ParseDirective)

	caddy.RegisterModule(manage.Admin{})
	caddy.RegisterModule(manage.Handler{})
	directive("manage_api", manage.ParseDirective)

	caddy.RegisterModule(apply.Handler{})
	directive("apply_api", apply.ParseDirective)

	caddy.RegisterModule(signin.Handler{})
	directive("signin", signin.ParseDirective)
}

// directive registers a handler's directive. Each of ours answers by itself, as respond does, and is ordered beside it.
func directive(name string, parse httpcaddyfile.UnmarshalHandlerFunc) {
	httpcaddyfile.RegisterHandlerDirective(name, parse)
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "respond")
}
