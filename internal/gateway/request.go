package gateway

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
)

type originalPath struct{}

// WithOriginalPath returns the request with its path as the client sent it, unescaped, before the server took a prefix
// off.
func WithOriginalPath(r *http.Request, path string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), originalPath{}, path))
}

// OriginalPath is the path of a request as WithOriginalPath noted it, else the path that it has.
func OriginalPath(r *http.Request) string {
	if path, ok := r.Context().Value(originalPath{}).(string); ok {
		return path
	}
	return r.URL.Path
}

// LeadsAway reports whether a request may have come to another address than it was sent to: one of the parts of its
// path is "." or "..". Caddy's handle_path follows these as steps in the path (RFC 3986 section 5.2.4) even where they
// were escaped, or stood after an escaped slash within an id.
func LeadsAway(r *http.Request) bool {
	path, noted := r.Context().Value(originalPath{}).(string)
	return noted && model.HasDotSegment(path)
}

// TextType is the media type that the header Content-Type names, in lower case, for a body that is text in UTF-8;
// empty: there is none, or it says that the text is in something else. Other parameters are ignored.
func TextType(h http.Header) string {
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return kind
}

// Encoded reports whether a body is not sent as it is: compressed, mostly. Nothing here takes such bodies.
func Encoded(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}
