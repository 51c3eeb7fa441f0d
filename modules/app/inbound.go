package app

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
)

// receiving is implemented by export_receiver, whose addresses name its tenants.
type receiving interface {
	TenantSegment() (n int, ok bool)
	TenantParameter() string
}

// anyTenant stands for a tenant in the addresses that are tried.
const anyTenant = "any-tenant"

// findInbound returns a function that returns the address at which the exports of a tenant come in; empty: the routes do
// not tell. It looks when it is first asked: by then all apps are provisioned.
func (a *App) findInbound() func(tenant string) string {
	found := sync.OnceValue(func() string {
		app, err := a.ctx.AppIfConfigured("http")
		if err != nil {
			return ""
		}
		return inboundOf(app.(*caddyhttp.App), a.gateway.Config.PublicURL)
	})
	return func(tenant string) string { return strings.Replace(found(), anyTenant, url.PathEscape(tenant), 1) }
}

// inboundOf returns an address that leads to an export receiver, for anyTenant: at the public address before other
// sites, and with the tenant in the path before one in the query. Empty: there is none that the routes tell.
func inboundOf(app *caddyhttp.App, publicURL string) string {
	public, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(app.Servers)) {
		server := app.Servers[name]
		for _, route := range server.Routes {
			for _, path := range hooksOf(caddyhttp.RouteList{route}, "", nil) {
				for _, base := range []string{public.Scheme + "://" + public.Host, "https://" + hostOf(route)} {
					if at, err := url.Parse(base + path); err == nil && at.Host != anyHost {
						if _, ok := answering(server, at).(receiving); ok {
							all = append(all, base+path)
							break
						}
					}
				}
			}
		}
	}
	rank := func(address string) (n int) {
		if !strings.HasPrefix(address, publicURL) {
			n += 2
		}
		if strings.Contains(address, "?") {
			n++
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// hooksOf returns path and query, for anyTenant, of what leads to the export receivers of some routes. patterns are those
// of the routes above, and stripped is what was taken off the path before them.
func hooksOf(routes caddyhttp.RouteList, stripped string, patterns []string) (all []string) {
	for _, route := range routes {
		here, off := patterns, stripped
		if own := patternsOf(route); own != nil {
			here = own
		}
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				all = append(all, hooksOf(h.Routes, off, here)...)
			case *rewrite.Rewrite:
				here = rewritten(here, h)
				off += h.StripPathPrefix
				if len(patternsOf(route)) == 0 { // the routes after it get the rewritten path
					patterns, stripped = here, off
				}
			case receiving:
				if here == nil {
					here = []string{"/*"}
				}
				for _, pattern := range here {
					if path, ok := hookPath(pattern, h); ok {
						all = append(all, off+path)
					}
				}
			}
		}
	}
	return all
}

// hookPath fills anyTenant into a pattern of paths; false: the pattern leaves more open than the tenant.
func hookPath(pattern string, h receiving) (string, bool) {
	n, inPath := h.TenantSegment()
	if !inPath {
		fixed := strings.TrimSuffix(strings.TrimSuffix(pattern, "*"), "/")
		return fixed + "?" + url.QueryEscape(h.TenantParameter()) + "=" + anyTenant, !strings.Contains(fixed, "*")
	}
	segments := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	if len(segments) == n && strings.HasSuffix(segments[n-1], "*") { // as in /hooks*
		segments[n-1] = strings.TrimSuffix(segments[n-1], "*")
		segments = append(segments, "*")
	}
	if n >= len(segments) {
		return "", false
	}
	fixed := strings.Join(segments[:n], "/")
	if n > 0 {
		fixed += "/"
	}
	return "/" + fixed + anyTenant, !strings.Contains(fixed, "*") && strings.Contains(segments[n], "*")
}
