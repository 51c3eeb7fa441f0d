package gateway

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/hiring"
)

// OriginalPath is the path of a request as it was sent, unescaped, before the site took a prefix off. known tells whether a site did
// note it: Caddy's admin endpoint does not.
func OriginalPath(r *http.Request) (path string, known bool) {
	original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request)
	if !ok || original.URL == nil {
		return "", false
	}
	return original.URL.Path, true
}

// LeadsAway tells whether a request may have come to another address than it was sent to: one of the parts of its path is "." or "..".
// Caddy's handle_path follows these as steps in the path (RFC 3986 section 5.2.4) even where they were escaped, or stood behind an
// escaped slash within an id.
func LeadsAway(r *http.Request) bool {
	path, known := OriginalPath(r)
	return known && hiring.HasDotSegment(path)
}
