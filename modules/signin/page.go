package signin

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/welcome"
)

//go:embed page.html
var markup string

var pages = template.Must(template.New("page").Parse(markup))

// page is the template data of a page.
type page struct {
	Text      *texts
	Style     template.CSS
	Service   string
	Mount     string // the path below which our forms lead: a page does not know at which of our addresses it is shown
	Title     string
	Lead      string // the text below the title
	Request   string // the authorization request that the form continues
	SignIn    *signInForm
	Upstream  string // the provider where people may sign in instead; empty: none
	Leave     *leaveForm
	Denied    *deniedForm
	Sessions  *sessionsForm
	Password  *passwordForm
	OwnFactor *ownFactorForm
	Choose    *chooseForm
	Who       string // the address of who is signed in; empty: it is not shown
	Factor    *factorForm
	Consent   *consentForm
	SignOut   *signOutForm
	Answer    *answerForm
	permitted string // further schemes that the form may lead to; see policy
}

// policy returns the Content-Security-Policy of the pages: no script but the one that submits an answer, no frame,
// nothing from elsewhere. A form leads to us and then on to the application, which may redirect further: browsers check
// each step against form-action.
func (v *page) policy() string {
	script := ""
	if v.Answer != nil {
		script = "script-src " + submitSource + "; "
	}
	return "default-src 'none'; " + script + "style-src " + welcome.StyleSource + "; form-action 'self'" + v.permitted +
		"; frame-ancestors 'none'; base-uri 'none'"
}

// leading returns the sources that form-action must permit for a form that ends at one of these addresses.
func leading(addresses ...string) string {
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.Scheme == "http" {
			return " https: http:"
		}
	}
	return " https:"
}

func (p *Provider) render(w http.ResponseWriter, r *http.Request, status int, v *page) {
	v.Style, v.Service, v.Mount = template.CSS(welcome.Style), p.title(), p.mount
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
	h.Set("Content-Security-Policy", v.policy())
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: browsers would send our own forms with an Origin of null then. Nor a Cross-Origin-Opener-Policy:
	// applications open these pages as a popup and wait for it.
	h.Set("Referrer-Policy", "strict-origin")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// title returns what pages call the service.
func (p *Provider) title() string {
	if p.Title != "" {
		return p.Title
	}
	c := p.Gateway.Config
	var only *model.Tenant
	for t := range c.All() {
		if only != nil {
			return c.Names.Service
		}
		only = t
	}
	if only == nil {
		return c.Names.Service
	}
	return cmp.Or(only.Title, c.Names.Service)
}

// fill puts names into a text: of the application, and of the service.
func (p *Provider) fill(text, app string) string {
	return strings.NewReplacer("{app}", app, "{service}", p.title()).Replace(text)
}

// fillAt is fill for a text that names an upstream as well.
func (p *Provider) fillAt(u *Upstream, text, app string) string {
	return strings.NewReplacer("{app}", app, "{service}", p.title(), "{provider}", u.Name).Replace(text)
}

// locales returns the languages that an application asks for, or that our form returns.
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

// untrustedPage answers a request that must not lead anywhere.
func (p *Provider) untrustedPage(w http.ResponseWriter, r *http.Request) {
	p.message(w, r, http.StatusBadRequest, func(t *texts) (string, string) { return t.UntrustedTitle, t.Untrusted })
}

// failedPage logs an error of ours, and shows that sign-in can't answer now.
func (p *Provider) failedPage(w http.ResponseWriter, r *http.Request, err error) {
	p.report(r, err)
	p.unavailablePage(w, r)
}

func (p *Provider) unavailablePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "5")
	p.message(w, r, http.StatusServiceUnavailable, func(t *texts) (string, string) { return t.BrokenTitle, t.Broken })
}
