package signin

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
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
	if a.formPost {
		p.answerPage(w, r, a, answer)
		return
	}
	redirectWith(w, r, a.redirectURI, answer)
}

// answerForm is the form that carries an answer to the redirect URI. Its page submits it where scripts run; elsewhere
// people press its button.
type answerForm struct {
	To     string
	Values url.Values
	Script template.JS
}

// submitScript submits the form of an answer. Its hash is the one script that the policy of that page lets in.
const submitScript = "document.forms[0].submit()"

var submitSource = func() string {
	sum := sha256.Sum256([]byte(submitScript))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// answerPage shows the form that carries an answer (OAuth 2.0 Form Post Response Mode, section 2).
func (p *Provider) answerPage(w http.ResponseWriter, r *http.Request, a *authorization, answer url.Values) {
	t := textsFor(a.locales, r)
	p.render(w, r, http.StatusOK, &page{Text: t, Title: p.fill(t.AnswerTitle, a.client.Name), Lead: p.fill(t.Answer, a.client.Name),
		Answer: &answerForm{To: a.redirectURI, Values: answer, Script: submitScript}, permitted: leading(a.redirectURI)})
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
