package e2e

import (
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// consolePage is a page of the console, as somebody sees it.
type consolePage struct {
	name     string // of its pictures
	template string
	address  string // below the console's
	then     func() // what leads on from there; nil: nothing
}

// pagesOf are all pages of the console, by who looks at them: by somebody's e-mail address, or by a link where there is
// none. Of a page that differs much by what it is about there are several.
func pagesOf(c *chromium, s *scene) map[string][]consolePage {
	tenant, export := "/tenants/"+s.tenant, "/exports/"+s.tenant+"/"
	integration := tenant + "/integrations/" + s.failing
	find := func(sought string) func() {
		return func() {
			c.fill(".find input", sought+"\uE007")
			c.awaitText(s.ports.url("/console/find"), "")
		}
	}
	press := func(selector, text string) func() {
		return func() {
			c.click(selector)
			c.awaitText(s.ports.url("/console"), text)
		}
	}
	return map[string][]consolePage{
		"recruiter@example.com": {
			{"candidates", "candidates", "/candidates", nil},
			{"candidate", "candidate", "/candidates/initech/" + s.candidate, nil},
			{"candidate-answers", "candidate", "/candidates/initech/" + s.applicant,
				press(`form[action$="/answers"] button`, "Nights suit me, and")},
			{"candidate-erase", "erasure", "/candidates/initech/" + s.candidate,
				press(`form[action$="/candidates/erase"] button`, s.candidate)},
			{"candidates-found", "candidates", "/candidates", func() {
				c.fill("#sought", s.family+"\uE007")
				c.find(`.sentence-form a[href$="/candidates?tenant=initech"]`) // all candidates
			}},
			{"job-applications", "job-applications", "/job-applications?state=open", nil},
			{"jobs", "jobs", "/jobs?tenant=initech", nil},
			{"job", "job", "/jobs/initech/" + s.job, nil},
			{"steps", "steps", "/steps/initech", nil},
		},
		"ops@example.com": {
			{"attention-needs", "start", "", nil},
			{"exports", "exports", "/exports", nil},
			{"exports-filtered", "exports", "/exports?tenant=" + s.tenant + "&integration=" + s.failing + "&undelivered=true", nil},
			{"export", "export", export + s.waits, nil},
			{"export-again", "export", export + s.waits, press(`form[action$="/redeliver"] button.quiet`, s.tenant)},
			{"export-erase", "export", export + s.waits, press(".confirm summary", s.tenant)},
			{"export-erased", "export", export + s.erased, nil},
			{"export-quarantined", "export", export + s.quarantined, nil},
			{"integrations", "integrations", "/integrations", nil},
			{"integration", "integration", integration, nil},
			{"integration-day", "integration", integration + "?days=1", nil},
			{"integration-edit", "integration-form", integration + "/edit", nil},
			{"integration-credentials", "integration-form", integration + "/edit", press(".fold summary", "X-Api-Key")},
			{"redeliveries", "redeliveries", "/redeliveries", nil},
			{"redelivery-preview", "redeliveries", "/redeliveries?" + url.Values{"preview": {"yes"},
				"to": {s.tenant + "/hris"}, "mode": {"all"}, "since": {s.began.UTC().Format("2006-01-02T15:04")}}.Encode(), nil},
			{"redelivery", "redelivery", "/redeliveries/" + s.tenant + "/" + s.redelivery, nil},
			{"submissions", "submissions", "/submissions?tenant=acme", nil},
			{"submission", "submission", "/submissions/acme/" + s.submission, nil},
			{"candidates-of-a-tenant", "candidates", "/candidates", nil},
			{"tenants", "tenants", "/tenants", nil},
			{"connect", "connect", "/connect", nil},
			{"connect-inbound", "connect", "/connect/" + s.tenant + "/1", nil},
			{"connect-receiver", "connect", "/connect/" + s.tenant + "/2", nil},
			{"connect-sample", "connect", "/connect/" + s.tenant + "/3", nil},
			{"tenant", "tenant", tenant, nil},
			{"tenant-subscriptions", "tenant", tenant, press("[aria-labelledby=subscriptions] .fold summary", "maker")},
			{"tenant-relay", "relay", tenant + "/relay", nil},
			{"tenant-relay-tested", "relay", "/tenants/acme/relay", func() {
				c.click("main form button")
				c.find("[aria-labelledby=answer] .pill")
			}},
			{"portal-link", "portal", tenant + "/portal", press("main form button", "/portal?ticket=")},
			{"people", "people", "/people", nil},
			{"person", "person", "/people/" + s.person, nil},
			{"applications", "clients", "/applications", nil},
			{"application", "client", "/applications/" + s.client, nil},
			{"audit", "audit", "/audit", nil},
			{"found", "find", "", find("hris")},
			{"found-nothing", "find", "", find("nothing")},
			{"nothing", "failure", "/nothing", nil},
			{"signed-out", "signed-out", "", press(`.rail .who button`, "")},
		},
		"": {
			{"portal", "tenant", tenant, nil},
			{"portal-exports", "exports", "/exports", nil},
			{"portal-export", "export", export + s.waits, nil},
			{"portal-integration", "integration", integration, nil},
		},
	}
}

// Each page of the console fits into windows of every width, with all details closed and open, in English and in German,
// and with long names. Each is accessible.
func TestPagesOfTheConsole(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	console := s.ports.url("/console")
	c := startChromium(t, "--accept-lang=en")
	c.as(looks[0])
	c.signInTo(console, "ops@example.com")
	c.fits("console-first-run")

	look := func(see func(consolePage)) {
		t.Helper()
		var seen []string
		for who, pages := range pagesOf(c, s) {
			c.tell("Network.clearBrowserCookies", map[string]any{})
			if who == "" {
				c.open(s.portal)
			} else {
				c.signInTo(console, who)
			}
			for _, p := range pages {
				c.open(console + p.address)
				if p.then != nil {
					p.then()
				}
				require.Equal(t, p.template == "failure", slices.Contains(c.texts("h1"), "This did not work") ||
					slices.Contains(c.texts("h1"), "Das ging nicht"), p.name)
				see(p)
				seen = append(seen, p.template)
			}
		}
		slices.Sort(seen)
		require.Equal(t, templates(t), slices.Compact(seen), "a page of the console is not among these")
	}
	s.furnish(plain)
	s.refusedSignIn()
	look(func(p consolePage) {
		c.fits("console-" + p.name)
		c.accessible(p.name)
	})
	c.tell("Network.clearBrowserCookies", map[string]any{})
	c.signInTo(console, "ops@example.com")
	c.keyboard(console)
	c.paperAndForcedColours(console + "/tenants/northgate/integrations/payroll")
	s.furnish(long)
	c.tell("Network.enable", map[string]any{})
	c.tell("Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]string{"Accept-Language": "de"}})
	look(func(p consolePage) { c.fitsInto("the German "+p.name, 280, 390, 1024, 1440) })
}

// keyboard goes through a page with the keyboard: the first step leads past the frame, and each is seen.
func (c *chromium) keyboard(page string) {
	c.t.Helper()
	c.open(page)
	var focus struct {
		Class string
		Seen  bool
	}
	next := func() {
		c.press("\uE004") // Tab
		c.evaluate(`(e => ({class: e.className, seen: e.getBoundingClientRect().right > 0 &&
			getComputedStyle(e).outlineStyle != "none"}))(document.activeElement)`, &focus)
		require.True(c.t, focus.Seen, "the focus is not seen: %+v", focus)
	}
	next()
	require.Equal(c.t, "skip", focus.Class)
	for _, class := range []string{"brand", "", "", ""} { // then the frame, from its top
		if next(); class != "" {
			require.Equal(c.t, class, focus.Class)
		}
	}
	c.open(page)
	next()
	c.press("\uE007") // Enter
	var inside bool
	next()
	c.evaluate(`document.querySelector("main").contains(document.activeElement)`, &inside)
	require.True(c.t, inside, "the focus is within the content, past the frame")
}

// paperAndForcedColours looks at a page with a table and a chart as it is printed, and in forced colours.
func (c *chromium) paperAndForcedColours(page string) {
	c.t.Helper()
	c.open(page)
	c.as(look{width: 718, height: 1000}) // A4
	c.media("print", nil)
	var shown []string
	c.evaluate(`[".head", ".acts", ".rows tbody tr"].map(s => getComputedStyle(document.querySelector(s)).display)`, &shown)
	require.Equal(c.t, []string{"none", "none", "table-row"}, shown, "on paper there is no frame, and tables are tables")
	c.kept("console-print")
	c.as(looks[0])
	c.media("", map[string]string{"forced-colors": "active"})
	var fills []string
	c.evaluate(`["body", ".mark", ".b-ok", ".b-bad"].map(s => document.querySelector(s)).map(e =>
		getComputedStyle(e)[e == document.body ? "backgroundColor" : "fill"])`, &fills)
	slices.Sort(fills)
	require.Len(c.t, slices.Compact(fills), 4, "marks and charts are seen, and received is not as failed")
	c.kept("console-forced-colours")
	c.as(looks[0])
}
