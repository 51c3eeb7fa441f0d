package app

import (
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

const gateName = "signin_gate"

// noteLoneGates logs that a gate has no application after it. That is as it should be where another server asks the gate,
// in a site without a host: a site with one would answer that server about other hosts with an empty 200.
func (a *App) noteLoneGates(ctx caddy.Context) {
	app, err := ctx.AppIfConfigured("http")
	if err != nil {
		return
	}
	servers := app.(*caddyhttp.App).Servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		for _, site := range servers[name].Routes {
			if host := hostOf(site); host != anyHost && endsAtGate(caddyhttp.RouteList{site}, false) {
				a.log.Warn("signin_gate at " + host + " has nothing after it: whoever is signed in gets an empty page. Add what serves " +
					"the application, such as `reverse_proxy 127.0.0.1:3000`; or, if another server asks the gate, leave the host out of " +
					"the site's address, such as http://:4180")
			}
		}
	}
}

// endsAtGate reports whether a gate among routes passes requests on to no handler. answered says that one comes after the
// routes.
func endsAtGate(routes caddyhttp.RouteList, answered bool) bool {
	for n, route := range routes {
		after := func(later caddyhttp.Route) bool { // of a group, only the first that matches counts
			return (route.Group == "" || later.Group != route.Group) && answers(later)
		}
		answeredHere := !route.Terminal && (answered || slices.ContainsFunc(routes[n+1:], after))
		for _, handler := range slices.Backward(route.Handlers) {
			name := nameOf(handler)
			sub, nested := handler.(*caddyhttp.Subroute)
			switch {
			case nested && endsAtGate(sub.Routes, answeredHere), name == gateName && !answeredHere:
				return true
			case nested:
				answeredHere = answeredHere || slices.ContainsFunc(sub.Routes, answers)
			default:
				answeredHere = answeredHere || !slices.Contains(passing, name)
			}
		}
	}
	return false
}

// answers reports whether a route has a handler that may answer a request.
func answers(route caddyhttp.Route) bool {
	return slices.ContainsFunc(route.Handlers, func(handler caddyhttp.MiddlewareHandler) bool {
		if sub, ok := handler.(*caddyhttp.Subroute); ok {
			return slices.ContainsFunc(sub.Routes, answers)
		}
		return !slices.Contains(passing, nameOf(handler))
	})
}
