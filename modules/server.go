package modules

import (
	"net"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/gateway"
)

// leastRate is the lowest rate at which a body may arrive, in bytes a second over all of it, unless the server's
// read_body_idle names a rate. Caddy's own default ends a body that stands still, but not one that is sent a byte at a
// time.
const leastRate = 1024

// serve lets a gateway's handler answer a request. The handler is plain net/http: this function does what needs Caddy.
func serve(g *gateway.Gateway, handler http.Handler, w http.ResponseWriter, r *http.Request) error {
	g.CloseWhenReplaced(w)
	if body, _ := caddyhttp.IdleTimeoutsFromContext(r.Context()); body != nil && body.Deadline.MinRate == 0 {
		defer body.Override(body.Deadline.Timeout, leastRate)()
	}
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && original.URL != nil {
		r = gateway.WithOriginalPath(r, original.URL.Path)
	}
	handler.ServeHTTP(w, r)
	return nil
}

// clientAddress returns the function that reads the address of a request's client, for throttles and logs. Behind a
// trusted proxy it is the rightmost untrusted address of X-Forwarded-For: a client can write anything to the left of
// it. Caddy reads the leftmost one unless the server has trusted_proxies_strict, so a server with a handler that asks
// for addresses always gets it.
func clientAddress(ctx caddy.Context) func(*http.Request) string {
	if server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server); ok {
		server.TrustedProxiesStrict = 1
	}
	return func(r *http.Request) string {
		if address, ok := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string); ok && address != "" {
			return address
		}
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr
		}
		return host
	}
}
