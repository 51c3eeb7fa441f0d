package app

import (
	"net"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// signingIn is a gate whose people sign in at a host of their own; empty: at the host that they ask.
type signingIn interface{ SignsInAt() string }

// noteAbsentSignInHosts logs that no site here has the host to which a gate sends people to sign in, and a gate.
func (a *App) noteAbsentSignInHosts(ctx caddy.Context) {
	app, err := ctx.AppIfConfigured("http")
	if err != nil {
		return
	}
	var gated, wanted []string
	for _, server := range app.(*caddyhttp.App).Servers {
		for _, site := range server.Routes {
			at, found := signInHosts(caddyhttp.RouteList{site})
			if found {
				gated, wanted = append(gated, hostsOf(site)...), append(wanted, at...)
			}
		}
	}
	slices.Sort(wanted)
	for _, at := range slices.Compact(wanted) {
		host, _, err := net.SplitHostPort(at)
		if err != nil {
			host = at
		}
		_, parent, _ := strings.Cut(host, ".")
		if !slices.ContainsFunc([]string{host, "*." + parent, anyHost}, func(one string) bool { return slices.Contains(gated, one) }) {
			a.log.Warn("signin_gate sends people to " + at + " to sign in, and no site here has that host and the gate: add it to the " +
				"addresses of the site, unless another gateway has it")
		}
	}
}

// hostsOf returns the hosts that a route of a server is for, of which there is at least one.
func hostsOf(route caddyhttp.Route) []string {
	for _, set := range route.MatcherSets {
		for _, matcher := range set {
			if hosts, ok := matcher.(*caddyhttp.MatchHost); ok && len(*hosts) > 0 {
				return *hosts
			}
		}
	}
	return []string{anyHost}
}

// signInHosts returns the hosts at which people of the gates among routes sign in, and reports whether there is a gate.
func signInHosts(routes caddyhttp.RouteList) (hosts []string, found bool) {
	for _, route := range routes {
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				below, foundBelow := signInHosts(h.Routes)
				hosts, found = append(hosts, below...), found || foundBelow
			case signingIn:
				found = true
				if at := h.SignsInAt(); at != "" {
					hosts = append(hosts, at)
				}
			}
		}
	}
	return hosts, found
}
