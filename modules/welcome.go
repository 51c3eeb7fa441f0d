package modules

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/welcome"
)

// Welcome is the directive welcome, for the end of a site: it answers 404 to programs, and shows a person in a browser
// what is here. It takes no options.
type Welcome struct{}

// CaddyModule implements caddy.Module.
func (Welcome) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.welcome", New: func() caddy.Module { return new(Welcome) }}
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (*Welcome) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	switch {
	case !welcome.WantsPage(r):
		w.WriteHeader(http.StatusNotFound)
	case r.URL.Path == "/":
		welcome.Show(w, r, http.StatusOK, welcome.Gateway)
	default:
		welcome.Show(w, r, http.StatusNotFound, welcome.Gateway)
	}
	return nil
}
