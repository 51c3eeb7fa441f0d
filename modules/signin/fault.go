package signin

import (
	"encoding/json"
	"net/http"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/welcome"
)

// fault is why a request is refused: an error of OAuth. Applications get it as JSON (RFC 6749 section 5.2) or, after an
// authorization request, at their redirect URI (section 4.1.2.1). Browsers get a page at addresses that are not for
// applications.
type fault struct {
	status            int // unused at a redirect URI
	code, description string
	challenge         string // the header WWW-Authenticate
}

func (f *fault) Error() string { return f.code + ": " + f.description }

var (
	errClient = &fault{http.StatusUnauthorized, "invalid_client", "send the client's id and secret with HTTP Basic",
		`Basic realm="sign-in", charset="UTF-8"`}
	errGrant = badRequest("invalid_grant",
		"the code or token is invalid, expired or already used: start a new authorization request")
	errScope    = badRequest("invalid_scope", "scope must have openid, and nothing that was not granted")
	errTwoWays  = badRequest("invalid_request", "authenticate in one way")
	errNotForm  = badRequest("invalid_request", "send a body of type application/x-www-form-urlencoded, of at most 64 KiB")
	errRepeated = badRequest("invalid_request", "a parameter comes more than once")

	errNoToken   = &fault{status: http.StatusUnauthorized, challenge: bearerRealm}
	errTwoTokens = &fault{http.StatusBadRequest, "invalid_request", "send one access token, in one way",
		bearerRealm + `, error="invalid_request"`}
	errToken = &fault{http.StatusUnauthorized, "invalid_token", "the access token is invalid, expired or revoked",
		bearerRealm + `, error="invalid_token"`}

	errStoreAway = &fault{status: http.StatusServiceUnavailable, code: "temporarily_unavailable",
		description: "sign-in can't use its database now: ask again in a moment"}
	errBusy = &fault{status: http.StatusServiceUnavailable, code: "temporarily_unavailable",
		description: "sign-in is asked too much at this moment: ask again in a few seconds"}
	errNotFound = &fault{status: http.StatusNotFound, description: "sign-in has nothing at this address"}
)

const bearerRealm = `Bearer realm="sign-in"`

func badRequest(code, description string) *fault {
	return &fault{status: http.StatusBadRequest, code: code, description: description}
}

// write answers an application. Without a code the answer has no body: nothing is said of an error where no token was
// sent (RFC 6750 section 3.1).
func (f *fault) write(w http.ResponseWriter) {
	if f.challenge != "" {
		w.Header().Set("WWW-Authenticate", f.challenge)
	}
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	if f.code == "" {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(f.status)
		return
	}
	writeJSON(w, f.status, map[string]string{"error": f.code, "error_description": f.description})
}

// reject answers a request before any handler does: applications in their form, browsers with a page, all others with a
// problem.
func (p *Provider) reject(w http.ResponseWriter, r *http.Request, f *fault) {
	away := f.status == http.StatusServiceUnavailable
	switch {
	case r.URL.Path == tokenPath || r.URL.Path == revokePath: // whatever they accept
		f.write(w)
	case welcome.WantsPage(r) && away:
		p.unavailablePage(w, r)
	case welcome.WantsPage(r):
		p.message(w, r, f.status, func(t *texts) (string, string) { return t.NoPageTitle, t.NoPage })
	default:
		if away {
			w.Header().Set("Retry-After", "5")
		}
		problem.New(f.status, f.description).Write(w)
	}
}

// storeAway logs an error, and answers an application that the store can't be used now.
func (p *Provider) storeAway(w http.ResponseWriter, r *http.Request, err error) {
	p.report(r, err)
	errStoreAway.write(w)
}

// writeJSON answers with JSON that must not be cached, unless the header Cache-Control is set.
func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil { // of maps of strings and numbers
		status, raw = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
		h.Set("Pragma", "no-cache")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(append(raw, '\n'))
}
