package signin

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/welcome"
)

// Errors of OAuth. Applications get them as JSON (RFC 6749 section 5.2) or, after an authorization request, at their
// redirect URI (section 4.1.2.1), where the status is not used.
var (
	errClient = oauthError(http.StatusUnauthorized, "invalid_client",
		"send the client's id and secret with HTTP Basic").Challenge(`Basic realm="sign-in", charset="UTF-8"`)
	errGrant = badRequest("invalid_grant",
		"the code or token is invalid, expired or already used: start a new authorization request")
	errScope    = badRequest("invalid_scope", "scope must have openid, and nothing that was not granted")
	errTwoWays  = invalid("authenticate in one way")
	errNotForm  = invalid("send a body of type application/x-www-form-urlencoded, of at most 64 KiB")
	errRepeated = invalid("a parameter comes more than once")
	errDeclined = badRequest("access_denied", "the user does not want to sign in")

	errNoToken   = problem.New(http.StatusUnauthorized, "send an access token").Challenge(bearerRealm)
	errTwoTokens = invalid("send one access token, in one way").Challenge(bearerRealm + `, error="invalid_request"`)
	errToken     = oauthError(http.StatusUnauthorized, "invalid_token",
		"the access token is invalid, expired or revoked").Challenge(bearerRealm + `, error="invalid_token"`)

	errStoreAway = oauthError(http.StatusServiceUnavailable, "temporarily_unavailable",
		"sign-in can't use its database now: ask again in a moment").RetryAfter(retryAfter)
	errBusy = oauthError(http.StatusServiceUnavailable, "temporarily_unavailable",
		"sign-in is asked too much at this moment: ask again in a few seconds").RetryAfter(retryAfter)
	errNotFound = problem.New(http.StatusNotFound, "sign-in has nothing at this address")
)

const (
	bearerRealm = `Bearer realm="sign-in"`
	retryAfter  = 5 * time.Second
)

func oauthError(status int, code, description string) *problem.Problem {
	p := problem.New(status, description)
	p.Code = code
	return p
}

func badRequest(code, description string) *problem.Problem {
	return oauthError(http.StatusBadRequest, code, description)
}

func invalid(description string) *problem.Problem { return badRequest("invalid_request", description) }

// refuseClient answers an application. Without a code the answer has no body: it says nothing of an error where no token
// was sent (RFC 6750 section 3.1).
func refuseClient(w http.ResponseWriter, refused *problem.Problem) {
	refused.SetHeader(w, true)
	if refused.Code == "" {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(refused.Status)
		return
	}
	writeJSON(w, refused.Status, map[string]string{"error": refused.Code, "error_description": refused.Detail})
}

// reject answers a request that reaches no handler: applications in their form, browsers with a page, all others with a
// problem.
func (p *Provider) reject(w http.ResponseWriter, r *http.Request, refused *problem.Problem) {
	switch {
	case r.URL.Path == tokenPath || r.URL.Path == revokePath: // whatever they accept
		refuseClient(w, refused)
	case welcome.WantsPage(r) && refused.Status == http.StatusServiceUnavailable:
		p.unavailablePage(w, r)
	case welcome.WantsPage(r):
		p.message(w, r, refused.Status, func(t *texts) (string, string) { return t.NoPageTitle, t.NoPage })
	default:
		refused.Write(w)
	}
}

// storeAway logs an error, and answers an application that the store can't be used now.
func (p *Provider) storeAway(w http.ResponseWriter, r *http.Request, err error) {
	p.report(r, err)
	refuseClient(w, errStoreAway)
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
