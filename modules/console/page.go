package console

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

//go:embed pages/*.html
var markup embed.FS

// pages are the templates, by name: each within the layout. They are parsed when the first page is shown: most processes show none.
var pages = sync.OnceValue(func() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Option("missingkey=error").ParseFS(markup, "pages/layout.html",
		"pages/parts.html", "pages/sprite.html"))
	all := map[string]*template.Template{}
	files, err := markup.ReadDir("pages")
	if err != nil { // it is part of the program
		panic(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "parts" && name != "sprite" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(markup, "pages/"+f.Name()))
		}
	}
	return all
})

// policy is the Content-Security-Policy: our style sheet, our icon and our forms, nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
	"base-uri 'none'"

// view is the data of a template: the frame of the page, and its own data.
type view struct {
	*texts
	frame
	Sheet       string // the version of the style sheet
	Service     string
	Environment string
	Mount       string
	Top         string // Mount outside of any one tenant
	Title       string
	Page        string // its name; of the steps that connect a client that of the first
	Who         string // the visitor's e-mail address; empty: nobody is signed in
	Role        string // the key of the visitor's role
	Portal      bool   // they came by a link
	Scope       string // the only tenant that exists for them; empty: all do
	May         may
	Done        string // the key of what was just done; empty: nothing
	Now         time.Time
	Data        any
}

// may says what the visitor may do: see duty.
type may struct{ Oversee, Redeliver, Read, Answers, Operate, Recruit, Administer bool }

func mayOf(d duty) may {
	has := func(one duty) bool { return d&one != 0 }
	return may{has(oversees), has(redelivers), has(reads), has(answers), has(operates), has(recruits), has(administers)}
}

// page shows a page with a status.
func (v *visitor) page(status int, name, title string, data any) error {
	titled, err := v.texts.T(title)
	if err != nil {
		return err
	}
	section := name
	if strings.HasPrefix(v.URL.Path, "/connect/") { // of which a step has the form of an integration
		section = "connect"
	}
	shown := view{texts: v.texts, Sheet: sheetVersion, Service: v.console.Title, Environment: v.console.Environment,
		Top: v.console.mount, Mount: cmp.Or(v.mount, v.console.mount), Title: titled, Page: section, Who: v.email, Role: v.role, Scope: v.person.Tenant,
		May: mayOf(v.duties), Portal: v.portal, Now: v.console.Gateway.Now().UTC(), Data: data}
	if shown.frame, err = v.frame(); err != nil && status < http.StatusInternalServerError {
		return err
	}
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
	if err := pages()[name].ExecuteTemplate(&b, "layout.html", shown); err != nil {
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
	if shown.Every != "" && status == http.StatusOK {
		h.Set("Refresh", shown.Every)
	}
	v.w.WriteHeader(status)
	_, err = v.w.Write(showUnseen(b.Bytes()))
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

// Next returns a number that people count from one.
func (view) Next(n int) int { return n + 1 }

// Many returns a number of things, in the words for none, for one or for many of them.
func (p view) Many(key string, n any) (string, error) {
	switch written := p.Num(n); written {
	case "0":
		return p.T(key + "None")
	case "1":
		return p.T(key + "One")
	default:
		return p.T(key+"Many", "n", written)
	}
}

// Left reports whether a time is still to come.
func (p view) Left(t time.Time) bool { return t.After(p.Now) }

// Once returns a value for a form that must not do its work twice.
func (view) Once() string { return rand.Text() }

// Path returns an address of the console; each part is escaped.
func (p view) Path(parts ...string) template.URL { return template.URL(p.Mount + pathOf(parts...)) }

// AtTop returns an address of the console outside of any one tenant; each part is escaped.
func (p view) AtTop(parts ...string) template.URL { return template.URL(p.Top + pathOf(parts...)) }

// Within returns an address of a list, of one tenant.
func (p view) Within(tenant, list string) template.URL {
	return p.Path(list) + template.URL("?"+url.Values{"tenant": {tenant}}.Encode())
}

// ExportPath returns the address of an export in the console, or of something below it.
func (p view) ExportPath(tenant, uuid string, below ...string) template.URL {
	return template.URL(p.Mount + exportPath(tenant, uuid, below...))
}
