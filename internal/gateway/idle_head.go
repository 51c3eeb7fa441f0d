package gateway

import "net/http"

// IdleHead answers a HEAD without doing anything, and without a cookie: previews and checkers of links send it. It is for
// routes on which a GET has effects, such as to issue a code or to end a session.
func IdleHead(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Cache-Control", "no-store")
			return
		}
		next(w, r)
	}
}
