package signin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/problem"
)

// refuse sends the user back to the application with an error.
func (p *Provider) refuse(w http.ResponseWriter, r *http.Request, a *authorization, refused *problem.Problem) {
	metrics.SignIn(a.client.ID, "authorize", refused.Code)
	p.sendBack(w, r, a, url.Values{"error": {refused.Code}, "error_description": {refused.Detail}})
}

// sendBack redirects the user to the redirect URI with an answer, which names its issuer (RFC 9207).
func (p *Provider) sendBack(w http.ResponseWriter, r *http.Request, a *authorization, answer url.Values) {
	if a.state != "" {
		answer.Set("state", a.state)
	}
	answer.Set("iss", p.Issuer)
	redirectWith(w, r, a.redirectURI, answer)
}

// redirectWith redirects the user to a registered address. It keeps the query of the address, and adds parameters.
func redirectWith(w http.ResponseWriter, r *http.Request, address string, more url.Values) {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	if len(more) > 0 {
		address += separator + more.Encode()
	}
	status := http.StatusFound
	if r.Method == http.MethodPost {
		status = http.StatusSeeOther
	}
	redirect(w, status, address)
}

// asGet redirects a form to one of our addresses, with the form as the query.
func (p *Provider) asGet(w http.ResponseWriter, r *http.Request, path string) {
	sent, ok := form(r)
	if !ok {
		p.untrustedPage(w, r)
		return
	}
	redirect(w, http.StatusSeeOther, p.Issuer+path+"?"+sent.Encode())
}

// redirect sends the browser to another address, which does not learn this one.
func redirect(w http.ResponseWriter, status int, address string) {
	h := w.Header()
	h.Set("Location", address)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
}
