package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An administrator adds somebody who then signs in, and sees why an application's sign-ins are refused.
func TestConsolePeopleInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	console := ports.url("/console")
	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])
	c.signInTo(console, "ops@example.com")
	var password string
	c.task(console, 3, func() {
		c.click(`.rail a[href="/console/people"]`)
		c.click("main details summary")
		c.fill("#email", "grace@example.com")
		c.fill("#name", "Grace Hopper")
		c.click("main details form button")
		c.awaitText(console+"/people", "Copy this now")
		password = c.text(".secret")
	})
	guest := newSurfer(t)
	guest.open(console)
	guest.submit(url.Values{"email": {"grace@example.com"}, "password": {password}, "action": {"sign-in"}})
	require.Equal(t, http.StatusForbidden, guest.status, "she is signed in, and has no role: "+guest.text)
	c.task(console+"/people", 1, func() {
		c.fill("#sought", "grace@example.com\uE007")
		c.awaitText(console+"/people/", "grace@example.com")
		c.click(`form[action$="/totp"] button`)
		c.awaitText(console+"/people/", "They set up a second factor at the next sign-in.")
	})
	person := strings.TrimSuffix(c.address(), "?done=person_totp")
	require.NotContains(t, person, "grace")

	// Somebody comes with an application's wrong redirect URI.
	wrong := "https://nowhere.example/callback"
	s := newSurfer(t)
	s.open(ports.url("/signin/oauth/authorize?client_id=demo&response_type=code&scope=openid&redirect_uri=" + wrong))
	c.task(console, 1, func() {
		c.click(`.rail a[href="/console/applications"]`)
		c.eventually(console+"/applications", func() bool { return slices.Contains(c.texts("td"), wrong) })
		require.Contains(t, c.text("#main"), "the redirect URI is not one of the application's")
	})
	c.task(console+"/applications", 3, func() {
		c.click("main details summary")
		c.fill("#id", "payroll")
		c.fill("#name", "Payroll")
		c.fill("#redirects", "https://pay.example.com/callback")
		c.click("main details form button")
		c.awaitText(console+"/applications", "Copy this now")
		first := c.text(".secret")
		c.click(`form[action$="/reset"] button`)
		c.awaitText(console+"/applications/payroll", "End the former secrets")
		require.NotEqual(t, first, c.text(".secret"))
	})
}
