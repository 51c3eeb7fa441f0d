package modules

import (
	"net"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/problem"
)

// leastRate is the lowest rate at which a body may arrive, in bytes a second over all of it, unless the server's
// read_body_idle names a rate. Caddy's own default ends a body that stands still, but not one that is sent a byte at a
// time.
const leastRate = 1024

// busyFor is the time after which a client may retry whose request was one too many.
const busyFor = 5 * time.Second

// serve lets a gateway's handler answer a request, unless too many are in progress.
func serve(g *gateway.Gateway, handler http.Handler, w http.ResponseWriter, r *http.Request) error {
	end, ok := g.Runtime.Requests.Begin(countedAddress(r))
	if !ok {
		metrics.RequestRefused()
		g.CloseWhenReplaced(w)
		problem.New(http.StatusServiceUnavailable, "too many requests are in progress: send this one again after the "+
			"time in Retry-After").RetryAfter(busyFor).Closing().Write(w)
		return nil
	}
	defer end()
	return serveAlways(g, handler, w, r)
}

// serveAlways lets a gateway's handler answer a request. The handler is plain net/http: this function does what needs
// Caddy.
func serveAlways(g *gateway.Gateway, handler http.Handler, w http.ResponseWriter, r *http.Request) error {
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

// clientAddress reads the address of a request's client, for throttles, bounds and logs. Behind a trusted proxy it is
// the rightmost untrusted address of X-Forwarded-For, see app.Of.
func clientAddress(r *http.Request) string {
	if address, ok := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string); ok && address != "" {
		return address
	}
	return peer(r)
}

// countedAddress is the address whose requests are bounded together; empty: a trusted proxy that doesn't say for whom it
// asks, and may ask for many.
func countedAddress(r *http.Request) string {
	address := clientAddress(r)
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); trusted && address == peer(r) {
		return ""
	}
	return address
}

// peer is the address at the other end of a request's connection.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
