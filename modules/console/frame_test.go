package console

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

var currentLinks = regexp.MustCompile(`<a href="([^"]+)" aria-current="(page|true)"><svg class="icon"`)

// Each page says which part of the console it belongs to, and the tab which page it is. No title names a person.
func TestFrame(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Console.Environment = "production"
	b.export("acme", uuid(1), model.Failed)
	b.candidate("acme", "c-1", "Zoë Ødegård")
	b.job("acme", "NURSE-1", "Nurse")
	b.client("payroll")
	b.Runtime.Remarks.Refused("acme", "invalid", "required", "/candidate", b.Clock.Now())
	b.Runtime.Remarks.Flush()
	for path, want := range map[string]struct{ title, current, how string }{
		"/tenants":                 {"1 thing needs you · Tenants", "/tenants", "page"},
		"/tenants/acme":            {"1 thing needs you · acme", "/tenants", "true"},
		"/tenants/acme/portal":     {"A link for the client", "/tenants", "true"},
		"/integrations":            {"1 thing needs you · Integrations", "/integrations", "page"},
		"/exports?tenant=acme":     {"Exports", "/exports?tenant=acme", "page"},
		"/exports?outcome=failed":  {"Failed: 1 · Exports", "/exports", "page"},
		"/connect/globex/2":        {"", "/tenants", "true"},
		"/tenants/globex":          {"globex", "/tenants", "true"},
		"/candidates/acme/c-1":     {"Candidate", "/candidates?tenant=acme", "true"},
		"/jobs/acme/NURSE-1":       {"NURSE-1", "/jobs?tenant=acme", "true"},
		"/steps/acme":              {"Workflow steps", "/jobs?tenant=acme", "true"},
		"/applications/payroll":    {"payroll", "/applications", "true"},
		"/audit":                   {"Audit", "/audit", "page"},
		"/audit?done=redeliver":    {"It is being delivered again. · Audit", "/audit", "page"},
		"/exports/acme/" + uuid(1): {"", "/exports?tenant=acme", "true"},
	} {
		w := b.send(ops, http.MethodGet, path, nil)
		require.Equal(t, http.StatusOK, w.Code, path)
		text := w.Body.String()
		if want.title != "" {
			require.Contains(t, text, "<title>"+want.title+" · Gate</title>", path)
		}
		current := currentLinks.FindAllStringSubmatch(text, -1)
		require.Len(t, current, 2, "%s: in the sidebar, and in the menu of narrow screens", path)
		require.Equal(t, "/console"+want.current, html.UnescapeString(current[0][1]), path)
		require.Equal(t, want.how, current[0][2], path)
		require.Contains(t, text, `<span class="env">production</span>`)
	}
	b.Console.Environment = "staging"
	require.Contains(t, b.see(ops, "/audit", http.StatusOK), `<span class="env test">staging</span>`)
	b.Console.Environment = ""
	require.NotContains(t, b.see(ops, "/audit", http.StatusOK), `class="env`)
}

// Another tenant is chosen from a list that keeps the page and what is set in its address, except for the page of a
// list and the message about what was just done.
func TestTenantIsChosen(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	for path, want := range map[string]string{
		"/exports?outcome=failed&done=erase": "/exports?outcome=failed&tenant=globex",
		"/exports?tenant=acme&every=60":      "/exports?every=60&tenant=globex",
		"/exports/acme/" + uuid(1):           "/exports?tenant=globex",
		"/tenants/acme/integrations/hris":    "/integrations?tenant=globex",
		"/tenants/acme":                      "/tenants/globex",
		"/people":                            "/tenants/globex",
	} {
		require.Contains(t, html.UnescapeString(b.see(ops, path, http.StatusOK)),
			`<a href="/console`+want+`">globex</a>`, path)
	}
	later := frame{Self: "/exports", Asked: url.Values{"cursor": {"12"}, "outcome": {"failed"}}}
	require.Equal(t, "/exports?outcome=failed&tenant=acme", string(later.Set("tenant", "acme")))
	text := b.see(viewer, "/exports", http.StatusOK)
	require.NotContains(t, text, `class="switch"`)
	require.Contains(t, text, `</svg>acme</p>`)
}

// A page is asked for again every minute or every five seconds when its address says so, and not otherwise.
func TestEveryMinute(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for path, want := range map[string]string{"/audit": "", "/audit?every=60": "60", "/audit?every=5": "5",
		"/audit?every=1": "", "/audit?every=60%3B%20url%3D%2F%2Felsewhere.example": "", "/nothing?every=60": ""} {
		require.Equal(t, want, b.send(ops, http.MethodGet, path, nil).Header().Get("Refresh"), path)
	}
	at := func(d time.Duration) string { return "/audit?live=" + fmt.Sprint(b.Clock.Now().Add(d).Unix()) }
	for path, want := range map[string]string{at(30 * time.Minute): "5", at(-time.Second): "", at(time.Hour): "", "/audit?live=x": ""} {
		require.Equal(t, want, b.send(ops, http.MethodGet, path, nil).Header().Get("Refresh"), path)
	}
	require.Contains(t, b.see(ops, "/audit?every=60&live=1", http.StatusOK), `href="/console/audit">Stop`)
	require.Contains(t, b.see(ops, "/audit", http.StatusOK), `href="/console`+at(30*time.Minute)+`"`)
	require.Empty(t, b.send(ops, http.MethodPost, "/find?every=60", url.Values{"q": {"x"}}).Header().Get("Refresh"))
	require.Contains(t, b.see(ops, "/audit", http.StatusOK), `href="/console/audit?every=60"`)
	require.Contains(t, b.see(ops, "/audit?every=60&action=set", http.StatusOK), `href="/console/audit?action=set"`)
}

// The style sheet and the icon are files that a browser stores, and that it gets before anybody is signed in.
func TestFilesOfPages(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	found := regexp.MustCompile(`href="/console(/[a-z.]+(?:\?[0-9a-f]+)?)" type="image|rel="stylesheet" href="/console([^"]+)"`)
	links := found.FindAllStringSubmatch(b.send(ops, http.MethodGet, "/audit", nil).Body.String(), -1)
	require.Len(t, links, 2)
	for path, kind := range map[string]string{links[0][1]: "image/svg+xml", links[1][2]: "text/css; charset=utf-8"} {
		w := b.send("", http.MethodGet, path, nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, kind, w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Cache-Control"), "immutable")
	}
	require.Less(t, len(style), 40_000)
	require.NotContains(t, style, "url(")
}

// Each state of the management API has a shape and a colour, a mark that the layout has, and words.
func TestLooks(t *testing.T) {
	t.Parallel()
	sprite, err := markup.ReadFile("pages/sprite.html")
	require.NoError(t, err)
	for key, l := range looks {
		require.Contains(t, translations[0].all, key)
		require.Contains(t, string(sprite), `id="m-`+l.mark+`"`)
		require.Contains(t, style, "."+l.tone+" { color: var(--", key)
	}
	for _, g := range sections {
		for _, s := range g.Sections {
			require.Contains(t, string(sprite), `id="i-`+s.Icon+`"`)
		}
	}
}

// A partner who came by a link reads about itself as you, and sees no page of the gateway's people.
func TestPartnerReadsYou(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	visitor := b.portal("acme", url.Values{})
	page := func(path string) string {
		w := b.send("", http.MethodGet, path, nil, visitor)
		require.Equal(t, http.StatusOK, w.Code, path)
		return w.Body.String()
	}
	text := page("/tenants/acme")
	require.Contains(t, text, "<h1>Your integrations</h1>")
	for _, section := range []string{"/audit", "/tenants", "/people", "/redeliveries", "/candidates"} {
		require.NotContains(t, text, `<a href="/console`+section+`"`)
	}
	require.Contains(t, page("/integrations"), "hris")
	require.Contains(t, page("/exports"), "hris: delivered to you")
	require.NotContains(t, b.see(ops, "/exports", http.StatusOK), "delivered to you")
	require.NotEmpty(t, strings.TrimSpace(text))
}

// The navigation counts what needs a person, in all and by tenant, for those whom it concerns.
func TestNeedsAreCounted(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 2 {
		b.export("acme", uuid(n), model.Held, func(e *model.Export) { e.Quarantined = true })
	}
	require.Contains(t, b.see(ops, "/", http.StatusOK), `<span class="count">1<`)
	text := b.see(ops, "/people", http.StatusOK)
	require.Equal(t, 5, strings.Count(text, `<span class="count">1<`), "the menu, and twice Attention and acme")
	require.Equal(t, 5, strings.Count(text, `> needs you</span>`))
	require.NotContains(t, b.see(recruiter, "/exports", http.StatusOK), `class="count"`)
}
