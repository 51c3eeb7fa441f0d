package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clicks is a browser that counts its clicks.
type clicks struct {
	*chromium
	n int
}

func (c *clicks) click(selector string) {
	c.t.Helper()
	c.n++
	c.chromium.click(selector)
}

// task does something in the console from its start page, in so many clicks.
func (c *clicks) task(start string, want int, do func()) {
	c.t.Helper()
	c.open(start)
	c.n = 0
	do()
	require.Equal(c.t, want, c.n)
}

// signInTo signs somebody in to the console.
func (c *chromium) signInTo(console, email string) {
	c.t.Helper()
	c.open(console)
	c.fill("#email", email)
	c.fill("#password", "correct horse\uE007") // Enter
	c.awaitText(console, email)
}

// accessible has axe-core look at the page (WCAG 2.2 A and AA, and good practice), and at its contrast in the dark.
func (c *chromium) accessible(page string) {
	c.t.Helper()
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(c.t, err, "axe-core is missing: run make deps")
	rules := [][]string{{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}, {"color-contrast"}}
	for n, l := range looks[:2] {
		c.as(l)
		var found []string
		c.call(http.MethodPost, "/execute/async", map[string]any{"args": []any{rules[n]}, "script": string(axe) + `
			const done = arguments[arguments.length - 1];
			axe.run({runOnly: arguments[0]}).then(r => done(r.violations.map(
				v => v.id + ": " + v.help + " " + v.nodes.map(n => n.html).join(" "))));`},
			&found)
		assert.Empty(c.t, found, "%s, %s", page, l.name)
	}
	c.as(looks[0])
}

// An operator finds an export, sees why it waits, redelivers it, and tries an integration.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	console := ports.url("/console")
	out, code := run(t, nil, hiregate(t), "send", ports.url("/hooks/acme"), "--secret", "acme-signing-secret")
	require.Zero(t, code, out)
	uuid := uuidLine.FindStringSubmatch(out)[1]
	export := console + "/exports/acme/" + uuid
	hris := console + "/tenants/globex/integrations/hris"

	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])
	c.signInTo(console, "ops@example.com")
	require.Equal(t, "development", c.text(".env"), "as the Caddyfile says")
	c.task(console, 0, func() {
		c.fill(".find input", uuid+"\uE007")
		c.awaitText(export, "Delivered to hris.")
	})
	c.task(export, 2, func() {
		c.click(`form[action$="/redeliver"] button`)
		c.awaitText(export+"/redeliver", "It was received already. Deliver it once more?")
		c.click(`section[aria-labelledby="again"] button`)
		c.awaitText(export, "It is being delivered again.")
		c.eventually(export, func() bool { return len(c.texts(".tries > li:not(.gap)")) == 2 })
	})
	c.task(export, 1, func() {
		c.click(`form[action$="/body"] button`)
		c.awaitText(export+"/body", "Its body")
	})
	c.task(hris, 1, func() {
		c.click(`form[action$="/test"] button`)
		c.awaitText(hris, "What came of the test export")
		require.Contains(t, c.text("#main"), "The test export was received.")
		c.fits("console-trial")
		c.accessible("trial")
	})
	c.task(hris, 2, func() {
		c.click(".confirm summary")
		c.fill("#reason", "maintenance")
		c.click(`form[action$="/disable"] button`)
		c.awaitText(hris, "The integration is disabled; its exports are held.")
	})
	out, code = run(t, nil, hiregate(t), "send", ports.url("/hooks?client=globex"), "--secret", "globex-signing-secret")
	require.Zero(t, code, out)
	waits := uuidLine.FindStringSubmatch(out)[1]
	c.task(console, 0, func() { // which client does not get its exports, and since when
		c.eventually(console, func() bool { return c.has(`a[href="/console/tenants/globex/integrations/hris"]`) })
		c.fits("console-attention-disabled")
		c.accessible("attention, when something needs it")
	})
	c.task(console+"/exports/globex/"+waits, 0, func() { // why
		c.eventually(console+"/exports/globex/"+waits, func() bool { return c.has(".why [lang=en]") })
		require.Contains(t, c.text("#main"), "disabled")
	})
	c.task(hris, 1, func() {
		c.click(`form[action$="/enable"] button`)
		c.awaitText(hris, "The integration is being verified")
	})
	redelivery := console + "/redeliveries?" + url.Values{"tenant": {"acme"}, "integration": {"hris"}, "mode": {"all"},
		"since": {time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")}}.Encode()
	c.task(redelivery, 2, func() {
		c.click("button[name=preview]")
		c.awaitText(console, "1 export would go to acme / hris")
		c.click(".preview button")
		c.awaitText(console+"/redeliveries/acme/", "The redelivery has begun.")
		c.eventually(c.address(), func() bool { return c.texts("main .pill span")[0] == "finished" })
	})

	c.open(console)
	c.click(".rail .who button")
	c.awaitText(console, "You are signed out of the console, and of sign-in in this browser.")
	c.open(console)
	c.awaitText(ports.url("/signin/oauth/authorize"), "Password") // it asks again
	require.True(c.t, c.has("#password"))
}

// A viewer changes nothing, and what other tenants have does not exist for those of one. Nobody without a role comes in.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	console := ports.url("/console")
	out, code := run(t, nil, hiregate(t), "send", ports.url("/hooks/acme"), "--secret", "acme-signing-secret")
	require.Zero(t, code, out)
	export := console + "/exports/acme/" + uuidLine.FindStringSubmatch(out)[1]
	for email, want := range map[string]struct{ see, redeliver int }{
		"viewer@example.com":    {http.StatusOK, http.StatusForbidden},
		"recruiter@example.com": {http.StatusNotFound, http.StatusNotFound},
		"ada@example.com":       {http.StatusForbidden, http.StatusForbidden},
	} {
		s := newSurfer(t)
		s.open(export)
		s.submit(url.Values{"email": {email}, "password": {"correct horse"}, "action": {"sign-in"}})
		require.Equal(t, export, s.at.String(), email)
		require.Equal(t, want.see, s.status, s.text)
		s.text = fmt.Sprintf(`<form method="post" action=%q>`, export+"/redeliver")
		s.submit(url.Values{})
		require.Equal(t, want.redeliver, s.status, s.text)
	}
}

// eventually opens a page until it is as it should be.
func (c *chromium) eventually(address string, done func() bool) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { c.open(address); return done() }, patience, 100*time.Millisecond, address)
}

// has reports whether the page has an element.
func (c *chromium) has(selector string) bool {
	c.t.Helper()
	var has bool
	c.evaluate(fmt.Sprintf("document.querySelector(%q) != null", selector), &has)
	return has
}

// texts are those of all elements that a selector finds.
func (c *chromium) texts(selector string) (all []string) {
	c.t.Helper()
	c.evaluate(fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.textContent)", selector), &all)
	return all
}
