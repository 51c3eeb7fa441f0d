package signin

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/welcome"
)

//go:embed page.html
var markup string

var pages = template.Must(template.New("page").Parse(markup))

// page is what a page shows.
type page struct {
	Text      *texts
	Style     template.CSS
	Service   string
	Mount     string // the path below which our forms lead: a page does not know at which of our addresses it is shown
	Title     string
	Lead      string // below the title
	Request   string // the authorization request that a form goes on with
	SignIn    *signInForm
	Upstream  string // the provider where people may sign in instead; empty: none
	Factor    *factorForm
	Consent   *consentForm
	SignOut   *signOutForm
	permitted string // further schemes that the form may lead to; see policy
}

// signInForm is the sign-in form as it was filled in, with what is wrong beside each field. It never holds the
// password.
type signInForm struct {
	Email, EmailError, PasswordError string
	Notice                           string // why they have to sign in again; empty: no reason is shown
}

type consentForm struct {
	Ticket string
	Learns []string // what the application will learn
}

type signOutForm struct {
	To, State, Client, Locales string
}

// policy is the pages' Content-Security-Policy: no script, no frame, nothing from elsewhere. A form leads to us and
// then on to the application, which may redirect further: browsers check each step against form-action.
func policy(permitted string) string {
	return "default-src 'none'; style-src " + welcome.StyleSource + "; form-action 'self'" + permitted +
		"; frame-ancestors 'none'; base-uri 'none'"
}

// leading returns what form-action must permit for a form that ends at one of these addresses.
func leading(addresses ...string) string {
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.Scheme == "http" {
			return " https: http:"
		}
	}
	return " https:"
}

func (p *Provider) render(w http.ResponseWriter, r *http.Request, status int, v *page) {
	v.Style, v.Service, v.Mount = template.CSS(welcome.Style), p.Title, p.mount
	var b bytes.Buffer
	if err := pages.Execute(&b, v); err != nil {
		p.report(r, err)
		http.Error(w, "the page can't be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.Text.Lang)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy(v.permitted))
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: browsers would send our own forms with an Origin of null then. Nor a Cross-Origin-Opener-Policy:
	// applications open these pages as a popup and wait for it.
	h.Set("Referrer-Policy", "strict-origin")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// fill puts names into a text.
func (p *Provider) fill(text, app string) string {
	return strings.NewReplacer("{app}", app, "{service}", p.Title).Replace(text)
}

func (p *Provider) signInPage(w http.ResponseWriter, r *http.Request, status int, a *authorization, f signInForm) {
	t := textsFor(a.locales, r)
	v := &page{Text: t, Title: t.SignInTitle, Lead: p.fill(t.SignInFor, a.client.Name), Request: a.raw, SignIn: &f,
		permitted: leading(a.redirectURI)}
	if p.Upstream != nil {
		v.Upstream = p.named(t.Upstream)
		v.permitted = leading(a.redirectURI, p.Upstream.Issuer)
	}
	p.render(w, r, status, v)
}

func (p *Provider) consentPage(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session) {
	t := textsFor(a.locales, r)
	learns := []string{t.ConsentSub}
	for _, s := range strings.Fields(a.learns()) {
		if text := map[string]string{"profile": t.ConsentProfile, "email": t.ConsentEmail}[s]; text != "" {
			learns = append(learns, text)
		}
	}
	learns = append(learns, t.ConsentOffline) // every application gets a refresh token
	ticket, err := p.Vault.SealTicket(forAsked, p.Issuer, &consentAsked{Session: s.Hash, Request: a.raw, At: p.now()})
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	p.render(w, r, http.StatusOK, &page{Text: t, Title: p.fill(t.ConsentTitle, a.client.Name),
		Lead:    p.fill(t.ConsentFor, a.client.Name),
		Consent: &consentForm{ticket, learns}, permitted: leading(a.redirectURI)})
}

func (p *Provider) signOutPage(w http.ResponseWriter, r *http.Request, to destination, client string) {
	t := textsFor(locales(r), r)
	v := &page{Text: t, Title: t.AskOutTitle, Lead: p.fill(t.AskOut, ""),
		SignOut: &signOutForm{to.address, to.state, client, locales(r)}}
	if to.address != "" {
		v.permitted = leading(to.address)
	}
	p.render(w, r, http.StatusOK, v)
}

// locales are the languages that an application asks for, or that our form returns.
func locales(r *http.Request) string {
	return cmp.Or(r.URL.Query().Get("ui_locales"), r.PostForm.Get("ui_locales"))
}

// message shows a text, in the language that the request asks for.
func (p *Provider) message(w http.ResponseWriter, r *http.Request, status int, text func(*texts) (title, lead string)) {
	p.messageIn(w, r, locales(r), status, text)
}

// messageIn shows a text in the language that an application asked for.
func (p *Provider) messageIn(w http.ResponseWriter, r *http.Request, locales string, status int,
	text func(*texts) (title, lead string)) {
	t := textsFor(locales, r)
	v := &page{Text: t}
	v.Title, v.Lead = text(t)
	p.render(w, r, status, v)
}

// untrusted answers a request that must not lead anywhere.
func (p *Provider) untrusted(w http.ResponseWriter, r *http.Request) {
	p.message(w, r, http.StatusBadRequest, func(t *texts) (string, string) { return t.UntrustedTitle, t.Untrusted })
}

// brokenPage logs an error, and shows that the store can't be used now.
func (p *Provider) brokenPage(w http.ResponseWriter, r *http.Request, err error) {
	p.report(r, err)
	p.broken(w, r)
}

func (p *Provider) broken(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "5")
	p.message(w, r, http.StatusServiceUnavailable, func(t *texts) (string, string) { return t.BrokenTitle, t.Broken })
}
