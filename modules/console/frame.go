package console

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/welcome"
)

var (
	//go:embed style.css
	sheet string
	//go:embed icon.svg
	icon string

	// style is the style sheet of the pages. sheetVersion changes with it, so that browsers may store it for good.
	style        = welcome.Tokens + sheet
	sheetVersion = func() string {
		sum := sha256.Sum256([]byte(style))
		return hex.EncodeToString(sum[:6])
	}()
)

// serveFile serves a file that belongs to every page.
func serveFile(contentType, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(content)) // an error means that the browser went away
	}
}

// maxTenants bounds the tenants that the frame offers to choose from.
const maxTenants = 50

// frame holds the data of the parts around the content of a page.
type frame struct {
	Asked   url.Values   // the query of the page
	Self    string       // its address without the query; empty: it answers a form, and can't be asked for again
	Every   string       // after how many seconds it is asked for again; empty: it is not
	Tenant  string       // the tenant that it is about; empty: all
	Tenants []api.Tenant // to choose from
	More    bool         // there are more of them
	Chooses bool         // the visitor works in one of them at a time
	All     bool         // or in all
	Needs   needCounts
}

// intervals are the seconds after which a page may be asked for again, by its parameter every.
var intervals = []string{"5", "60"}

// liveFor is for how long a page looks again every five seconds, by its parameter live: the time when that ends.
const liveFor = 30 * time.Minute

// Live returns the address of a page that looks again every five seconds from now on.
func (p view) Live() template.URL {
	return p.Set("live", strconv.FormatInt(p.Now.Add(liveFor).Unix(), 10))
}

// frame returns the frame of the page that the visitor asks for.
func (v *visitor) frame() (f frame, err error) {
	f.Asked = v.URL.Query()
	f.Tenant = v.PathValue("tenant")
	if f.Tenant == "" {
		f.Tenant = f.Asked.Get("tenant")
	}
	if v.Method == http.MethodGet || v.Method == http.MethodHead {
		f.Self = v.console.mount + strings.TrimSuffix(v.URL.EscapedPath(), "/")
		if every := f.Asked.Get("every"); slices.Contains(intervals, every) {
			f.Every = every
		}
		if end, err := strconv.ParseInt(f.Asked.Get("live"), 10, 64); err == nil {
			if left := time.Unix(end, 0).Sub(v.console.Gateway.Now()); left > 0 && left <= liveFor {
				f.Every = "5"
			}
		}
	}
	if v.duties&oversees != 0 && v.role != recruiterRole {
		f.Needs = v.needCounts()
	}
	if v.chooses() {
		seen := v.console.tenantsOf(v.grants)
		f.All = v.grants.first != nil && v.grants.first.Tenant == ""
		f.Tenant, f.More, f.Chooses = cmp.Or(v.person.Tenant, f.Tenant), len(seen) > maxTenants, true
		if len(seen) == 1 && !f.All {
			return f, nil
		}
		for _, t := range seen[:min(len(seen), maxTenants)] {
			f.Tenants = append(f.Tenants, api.Tenant{ID: t.Name})
		}
		return f, nil
	}
	if v.person.Tenant != "" || v.person.ID == "" {
		return f, nil
	}
	f.All = true
	var all api.List[api.Tenant]
	err = v.get("/v1/tenants", url.Values{"limit": {strconv.Itoa(maxTenants)}}, &all)
	f.Tenants, f.More = all.Items, all.Next != nil
	return f, err
}

// needCounts says how many things need a person, in all and by tenant.
type needCounts struct {
	All int
	Of  map[string]int
	at  time.Time // when they were counted
}

// countsLast is how long counts are shown before they are taken again: pages that show something else wait for none.
const countsLast = 10 * time.Second

// needCounts returns the counts for those whom the same tenants exist for. None are shown while they can't be taken.
func (v *visitor) needCounts() needCounts {
	c := v.console
	stored, _ := c.counts.Load(v.person.Tenant) // as many as the configuration's roles name tenants
	if known, ok := stored.(needCounts); ok && c.Gateway.Now().Sub(known.at) < countsLast {
		return known
	}
	var status api.GatewayStatus
	if err := v.get("/v1/status", url.Values{"limit": {"1"}, "grouped": {"true"}}, &status); err != nil {
		return needCounts{}
	}
	return c.count(v.person.Tenant, &status)
}

// count stores the counts of needs for those who see a tenant, or all where it is empty.
func (c *Console) count(tenant string, status *api.GatewayStatus) needCounts {
	counted := needCounts{All: status.AllNeeds(), Of: map[string]int{}, at: c.Gateway.Now()}
	for of, n := range status.NeedsOf {
		counted.Of[of] = int(n)
	}
	c.counts.Store(tenant, counted)
	return counted
}

// Set returns the address of this page with a query parameter changed, or left out where the value is empty. It
// begins with the first page of a list, and without the message about what was just done.
func (f frame) Set(name, value string) template.URL {
	q := url.Values{}
	for other, values := range f.Asked {
		if other != "cursor" && other != "done" {
			q[other] = values
		}
	}
	switch name { // one takes the place of the other
	case "every", "":
		q.Del("live")
	case "live":
		q.Del("every")
	}
	if q.Del(name); value != "" {
		q.Set(name, value)
	}
	if name == "tenant" { // these are names within the former one
		q.Del("integration")
		q.Del("candidate")
	}
	if len(q) == 0 {
		return template.URL(f.Self)
	}
	return template.URL(f.Self + "?" + q.Encode())
}

// section is a part of the console: a list, and the pages that it leads to.
type section struct {
	Key   string // of its name, and of its icon
	Icon  string
	Path  string // below the console's address; of the list, which may be of one tenant
	Of    bool   // the list can be of one tenant
	Pages []string
	shown func(view) bool
}

// sections are all parts of the console, in groups. The key of a group is that of its heading.
var sections = []struct {
	Key      string
	Sections []section
}{
	{"", []section{
		{"Attention", "attention", "", true, []string{"start"}, func(p view) bool { return p.May.Oversee }},
		{"Exports", "exports", "/exports", true, []string{"exports", "export"}, always},
		{"Integrations", "plug", "/integrations", true, []string{"integrations", "integration", "integration-form"}, always},
		{"Redeliveries", "again", "/redeliveries", true, []string{"redeliveries", "redelivery"},
			func(p view) bool { return p.May.Oversee }},
	}},
	{"Recruiting", []section{
		{"Candidates", "person", "/candidates", true, []string{"candidates", "candidate", "erasure"}, recruiting},
		{"Applications", "file", "/job-applications", true, []string{"job-applications"}, recruiting},
		{"Submissions", "out", "/submissions", true, []string{"submissions", "submission"},
			func(p view) bool { return p.May.Oversee }},
		{"Jobs", "job", "/jobs", true, []string{"jobs", "job", "steps"}, recruiting},
	}},
	{"Gateway", []section{
		{"Tenants", "house", "/tenants", false, []string{"tenants", "tenant", "portal", "connect"},
			func(p view) bool { return p.May.Oversee }},
		{"People", "key", "/people", false, []string{"people", "person"}, administering},
		{"Clients", "apps", "/applications", false, []string{"clients", "client"}, administering},
		{"Audit", "audit", "/audit", true, []string{"audit"}, func(p view) bool { return p.May.Oversee }},
	}},
}

func always(view) bool          { return true }
func recruiting(p view) bool    { return p.May.Recruit }
func administering(p view) bool { return p.May.Administer && p.Scope == "" }

// group is a group of links to sections.
type group struct {
	Key   string
	Links []sectionLink
}

// sectionLink is a link to a section.
type sectionLink struct {
	Key, Icon string
	Path      template.URL
	Current   string // page: it is this page; true: this page belongs to it; empty: neither
}

// recruiterSections are the sections of a recruiter, the most frequent first.
var recruiterSections = []string{"Candidates", "Applications", "Jobs", "Submissions", "Exports", "Integrations", "Audit"}

// Groups returns the links to the sections that the visitor may see. Those of a recruiter are one group.
func (p view) Groups() (all []group) {
	recruiter := group{Links: make([]sectionLink, len(recruiterSections))}
	for _, g := range sections {
		shown := group{Key: g.Key}
		for _, s := range g.Sections {
			if !s.shown(p) {
				continue
			}
			l := sectionLink{Key: s.Key, Icon: s.Icon, Path: template.URL(p.Mount + s.Path)}
			if s.Of && p.Tenant != "" && p.Scope == "" {
				l.Path += template.URL("?" + url.Values{"tenant": {p.Tenant}}.Encode())
			}
			switch n := slices.Index(s.Pages, p.Page); {
			case n == 0:
				l.Current = "page"
			case n > 0:
				l.Current = "true"
			}
			shown.Links = append(shown.Links, l)
			if n := slices.Index(recruiterSections, s.Key); n >= 0 {
				recruiter.Links[n] = l
			}
		}
		if len(shown.Links) > 0 {
			all = append(all, shown)
		}
	}
	if p.Role == recruiterRole {
		return []group{recruiter}
	}
	return all
}

// Switch returns the address of the same page for another tenant, or for all where it is empty. From a page about one
// thing it leads to the list of such things.
func (p view) Switch(tenant string) template.URL {
	if p.Chooses {
		return p.switchTo(tenant)
	}
	for _, g := range sections {
		for _, s := range g.Sections {
			switch n := slices.Index(s.Pages, p.Page); {
			case n == 0 && s.Of && p.Self != "":
				return p.Set("tenant", tenant)
			case n >= 0 && s.Of && tenant != "":
				return template.URL(p.Mount + s.Path + "?" + url.Values{"tenant": {tenant}}.Encode())
			case n >= 0 && s.Of:
				return template.URL(p.Mount + s.Path)
			}
		}
	}
	if tenant == "" {
		return template.URL(p.Mount + "/tenants")
	}
	return p.Path("tenants", tenant)
}

// switchTo is Switch for those who work in one tenant at a time.
func (p view) switchTo(tenant string) template.URL {
	begin, list := p.Top, "/tenants"
	if tenant != "" {
		begin += pathOf("in", tenant)
		list = pathOf("tenants", tenant)
	}
	for _, g := range sections {
		for _, s := range g.Sections {
			if s.Of && slices.Contains(s.Pages, p.Page) {
				list = s.Path
			}
		}
	}
	return template.URL(begin + list)
}

// Needing returns a title with how much needs the visitor: of the tenant that the page is about, or else of all.
func (p view) Needing(title string) (string, error) {
	n := p.Needs.All
	if p.Tenant != "" {
		n = p.Needs.Of[p.Tenant]
	}
	if n == 0 {
		return title, nil
	}
	needs, err := p.Many("NeedYou", n)
	return needs + " · " + title, err
}

// Crumbs returns the way to a page: pairs of a text and its address, and at last the text of the page.
func (p view) Crumbs(way ...any) (template.HTML, error) {
	label, err := p.T("Breadcrumb")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<nav aria-label="%s"><ol class="crumbs">`, template.HTMLEscapeString(label))
	for n := 0; n < len(way); n += 2 {
		text := template.HTMLEscaper(way[n])
		if n+1 < len(way) {
			text = fmt.Sprintf(`<a href="%s">%s</a>`, template.HTMLEscaper(way[n+1]), text)
		}
		fmt.Fprintf(&b, `<li><bdi>%s</bdi></li>`, text)
	}
	b.WriteString(`</ol></nav>`)
	return template.HTML(b.String()), nil
}

// Columns returns the head of a table, of the keys of its columns. Before a key, # makes it a column of numbers, and -
// one that is left out where there is little room.
func (p view) Columns(keys ...string) (template.HTML, error) {
	class := map[string]string{"": "", "#": ` class="n"`, "-": ` class="wide"`, "#-": ` class="n wide"`}
	var b strings.Builder
	b.WriteString(`<thead role="rowgroup"><tr role="row">`)
	for _, key := range keys {
		name := strings.TrimLeft(key, "#-")
		text, err := p.T(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, `<th role="columnheader" scope="col"%s>%s</th>`, class[strings.TrimSuffix(key, name)],
			template.HTMLEscapeString(text))
	}
	b.WriteString(`</tr></thead>`)
	return template.HTML(b.String()), nil
}
