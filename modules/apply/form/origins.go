package form

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// mayPost reports whether a form comes from a page of ours, or of an origin that may. Without a browser there is nobody
// whose browser could be used: there are no cookies. An Origin of null counts only from a page of ours, in a sandbox.
func (f *Form) mayPost(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	switch {
	case site == "same-origin", slices.Contains(f.Origins, origin):
		return true
	case origin == "null":
		return false
	case origin == "":
		return site == "" || site == "none"
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// returnTo returns an address to lead to afterwards, if its origin is one of the origins; otherwise it is empty.
func (f *Form) returnTo(address string) string {
	u, err := url.Parse(address)
	if address == "" || err != nil || u.User != nil || u.Opaque != "" || !slices.Contains(f.Origins, u.Scheme+"://"+u.Host) {
		return ""
	}
	return u.String()
}

// isFramed reports whether a page is shown in a frame, as browsers say.
func isFramed(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "iframe" || dest == "frame"
}

// ValidateOrigin returns why a text is no origin that may show the form; nil: it is one.
func ValidateOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || origin != u.Scheme+"://"+u.Host || strings.ContainsAny(origin, "*;, ") {
		return errOrigin
	}
	return nil
}
