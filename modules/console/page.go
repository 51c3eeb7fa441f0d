package console

import (
	"bytes"
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/welcome"
)

//go:embed style.css
var sheet string

// style is the style sheet of the pages.
var style = welcome.Colours + sheet

//go:embed pages/*.html
var markup embed.FS

// pages are the templates, by name: each within the layout.
var pages = func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Option("missingkey=error").ParseFS(markup, "pages/layout.html",
		"pages/parts.html"))
	all := map[string]*template.Template{}
	files, err := markup.ReadDir("pages")
	if err != nil { // it is part of the program
		panic(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "parts" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(markup, "pages/"+f.Name()))
		}
	}
	return all
}()

// policy is the Content-Security-Policy: our style and our forms, nothing else.
var policy = "default-src 'none'; style-src " + welcome.SourceOf(style) +
	"; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// view is the data of a template: the frame of the page, and its own data.
type view struct {
	*texts
	Style   template.CSS
	Service string
	Mount   string
	Title   string
	Page    string // its name
	Who     string // the visitor's e-mail address; empty: nobody is signed in
	Portal  bool   // they came by a link
	Scope   string // the only tenant that exists for them; empty: all do
	May     may
	Done    string // the key of what was just done; empty: nothing
	Now     time.Time
	Data    any
}

// may says what the visitor may do: see duty.
type may struct{ Oversee, Redeliver, Read, Operate, Recruit, Administer bool }

func mayOf(d duty) may {
	has := func(one duty) bool { return d&one != 0 }
	return may{has(oversees), has(redelivers), has(reads), has(operates), has(recruits), has(administers)}
}

// page shows a page with a status.
func (v *visitor) page(status int, name, title string, data any) error {
	titled, err := v.texts.T(title)
	if err != nil {
		return err
	}
	shown := view{texts: v.texts, Style: template.CSS(style), Service: v.console.Title, Mount: v.console.mount,
		Title: titled, Page: name, Who: v.email, Scope: v.person.Tenant, May: mayOf(v.duties),
		Portal: v.portal, Now: v.console.Gateway.Now().UTC(), Data: data}
	switch {
	case v.portal:
		shown.Who = v.texts.Word("portal", "visitor")
	case v.email == "" && v.person.ID != "": // the provider told no address
		shown.Who = strings.TrimPrefix(v.person.ID, "console:")
	}
	if done := "Done_" + v.URL.Query().Get("done"); v.texts.has(done) {
		shown.Done = done
	}
	var b bytes.Buffer
	if err := pages[name].ExecuteTemplate(&b, "layout.html", shown); err != nil {
		return fmt.Errorf("making a page: %w", err)
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.texts.Lang)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	v.w.WriteHeader(status)
	_, err = v.w.Write(b.Bytes())
	return err
}

// show shows a page, or a bare sentence where even that fails.
func (v *visitor) show(status int, name, title string, data any) {
	if err := v.page(status, name, title, data); err != nil {
		http.Error(v.w, "the page can't be shown", http.StatusInternalServerError)
	}
}

// With returns the same frame with other data, for a part of a page.
func (p view) With(data any) view {
	p.Data = data
	return p
}

// Query returns an encoded query, for an address.
func (view) Query(encoded string) template.URL { return template.URL(encoded) }

// Percent returns a success rate in percent; a dash without any attempt.
func (view) Percent(r api.Rates) string {
	if r.SuccessRate == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", *r.SuccessRate*100)
}

// Next returns a number that people count from one.
func (view) Next(n int) int { return n + 1 }

// Many returns a number of things, in the words for none, for one or for many of them.
func (p view) Many(key string, n int) (string, error) {
	switch n {
	case 0:
		return p.T(key + "None")
	case 1:
		return p.T(key + "One")
	}
	return p.T(key+"Many", "n", n)
}

// Ms returns a time in milliseconds, in a unit that people read.
func (view) Ms(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.2g ms", ms)
	}
	return Span(time.Duration(ms * float64(time.Millisecond)))
}

// Left reports whether a time is still to come.
func (p view) Left(t time.Time) bool { return t.After(p.Now) }

// Once returns a value for a form that must not do its work twice.
func (view) Once() string { return rand.Text() }

// Time returns a time in UTC, for people and machines.
func (view) Time(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(time.RFC3339),
		t.Format("2006-01-02 15:04:05 UTC")))
}

// Age returns how long ago a time was.
func (p view) Age(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return Span(p.Now.Sub(t))
}

// Until returns how long it is until a time.
func (p view) Until(t time.Time) string { return Span(t.Sub(p.Now)) }

// Between returns the time from one to the other.
func (view) Between(from, to time.Time) string { return Span(to.Sub(from)) }

// Span returns a length of time in two units at most.
func Span(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// Path returns an address of the console; each part is escaped.
func (p view) Path(parts ...string) template.URL { return template.URL(p.Mount + pathOf(parts...)) }

// ExportPath returns the address of an export in the console, or of something below it.
func (p view) ExportPath(tenant, uuid string, below ...string) template.URL {
	return template.URL(p.Mount + exportPath(tenant, uuid, below...))
}
