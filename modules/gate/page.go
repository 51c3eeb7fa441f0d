package gate

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/translation"
	"github.com/hiregate/hiregate/internal/welcome"
)

var (
	//go:embed page.html
	markup string
	//go:embed texts/*.json
	files embed.FS

	pages        = template.Must(template.New("page").Option("missingkey=error").Parse(markup))
	translations = translation.Read(files, func(lang string, words map[string]string) *texts { return &texts{lang, words} })
)

// texts holds the words of the pages in one language, by key. {app} is the application, {provider} the provider.
type texts struct {
	Lang  string
	Words map[string]string
}

// page is the template data of a page.
type page struct {
	Key      string // its texts are <Key>Title and <Key>
	Again    string // where its button leads
	Who      string // the address of the account; empty: nobody is signed in, or the provider named none
	Said     string // the provider's error code
	Number   string // by which the log has more; empty: there is no more
	SignOut  string // the address at which the person signs out at the provider; empty: none is known
	Lang     string
	App      string
	Provider string // its host
	Contact  string
	At       time.Time
	Style    template.CSS
	fill     *strings.Replacer
	words    map[string]string
}

// T returns a text.
func (p *page) T(key string) string { return p.fill.Replace(p.words[key]) }

// Title returns the heading.
func (p *page) Title() string { return p.T(p.Key + "Title") }

func (v *visitor) page(status int, p *page) {
	u, err := url.Parse(v.gate.Provider.Issuer)
	if err == nil {
		p.Provider = u.Host
	}
	p.Lang, p.words, p.Contact, p.At = v.texts.Lang, v.texts.Words, v.gate.Contact, v.gate.Gateway.Now().UTC()
	p.App, p.Style = cmp.Or(v.gate.Title, v.at.Host), template.CSS(welcome.Style)
	p.fill = strings.NewReplacer("{app}", p.App, "{provider}", cmp.Or(v.gate.Provider.Name, p.Provider))
	var b bytes.Buffer
	if err := pages.Execute(&b, p); err != nil {
		v.gate.Log.Error("a page can't be shown", zap.Error(err))
		http.Error(v.w, "the page can't be shown", http.StatusInternalServerError)
		return
	}
	welcome.Write(v.w, status, p.Lang, b.Bytes())
}

// denied shows somebody who is signed in that the application is not for them.
func (v *visitor) denied(s *session.Session) {
	start := v.gate.Prefix + "/start?" + url.Values{"rd": {v.gate.Sent(v.Request).RequestURI()}}.Encode()
	out := v.origin + v.mount + v.gate.Prefix + "/sign_out?" + url.Values{"rd": {v.mount + start}}.Encode()
	v.page(http.StatusForbidden, &page{Key: "Denied", Again: out, Who: cmp.Or(s.Email, s.Name, s.Subject)})
}

// away answers while the database is not there.
func (v *visitor) away() {
	if !v.navigates() {
		problem.New(http.StatusServiceUnavailable, "sessions can't be looked up now: try again in a moment").
			RetryAfter(5 * time.Second).Write(v.w)
		return
	}
	v.w.Header().Set("Retry-After", "5")
	v.page(http.StatusServiceUnavailable, &page{Key: "Away", Again: v.origin + v.gate.Sent(v.Request).RequestURI()})
}

// broken logs an error of ours, and answers that sessions can't be looked up or stored now.
func (v *visitor) broken(err error) {
	v.gate.Log.Error("a session can't be looked up or stored", zap.Error(err))
	v.away()
}
