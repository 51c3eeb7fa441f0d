package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// picturesVariable may name a folder that pictures of the pages are put into, for docs/images and to look at.
const picturesVariable = "HIREGATE_PICTURES"

// look is how a page is looked at.
type look struct {
	name          string
	width, height int
	dark          bool
}

func (c *chromium) as(l look) {
	c.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	c.tell("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.width, "height": l.height,
		"deviceScaleFactor": 1, "mobile": l.width < 600})
	c.media("", map[string]string{"prefers-color-scheme": scheme})
}

// media has the page shown on a medium, such as print, to somebody with preferences. Nothing moves.
func (c *chromium) media(medium string, preferences map[string]string) {
	c.t.Helper()
	features := []map[string]string{{"name": "prefers-reduced-motion", "value": "reduce"}}
	for name, value := range preferences {
		features = append(features, map[string]string{"name": name, "value": value})
	}
	c.tell("Emulation.setEmulatedMedia", map[string]any{"media": medium, "features": features})
}

// evaluate runs a script of the test's in the page.
func (c *chromium) evaluate(script string, out any) {
	c.t.Helper()
	c.call(http.MethodPost, "/execute/sync", map[string]any{"script": "return " + script, "args": []any{}}, out)
}

// fits looks at the page in every way: it must fit into the width. Pictures of it go to the folder that was named for
// them, if one was.
func (c *chromium) fits(page string) {
	c.t.Helper()
	if os.Getenv(picturesVariable) != "" {
		for suffix, l := range map[string]look{"": looks[0], "-phone-dark": looks[3]} {
			c.as(l)
			c.kept(page + suffix)
		}
	}
	c.fitsInto(page, 280, 390, 768, 1024, 1440, 1920)
}

// kept puts a picture of the page into the folder for pictures, if there is one.
func (c *chromium) kept(name string) {
	c.t.Helper()
	if folder := os.Getenv(picturesVariable); folder != "" {
		require.NoError(c.t, os.WriteFile(filepath.Join(folder, name+".png"), c.picture(), 0o644))
	}
}

// fitsInto looks for what is wider than its box, or cut off, in windows of some widths, in px, with all details closed
// and open.
func (c *chromium) fitsInto(page string, widths ...int) {
	c.t.Helper()
	for _, width := range widths {
		c.as(look{width: width, height: 900})
		var wide []string
		c.evaluate(tooWide, &wide)
		assert.Empty(c.t, wide, "cut off, or wider than %d px: %s", width, page)
	}
	c.as(looks[0])
}

// tooWide finds what is seen and ends outside of the window, or is wider than the box that it is in. All details are closed
// and opened for it, and then as they were.
const tooWide = `(() => {
	const wide = [], details = [...document.querySelectorAll("details")], before = details.map(d => d.open);
	for (const open of [false, true]) {
		details.forEach(d => d.open = open);
		for (const e of document.querySelectorAll("html, body, body *:not(thead *, svg *, .hidden, .skip, option)")) {
			const box = e.getBoundingClientRect(), inline = getComputedStyle(e).display == "inline";
			if (box.width > 0 && e.checkVisibility() && (box.right > innerWidth + 1 ||
				!inline && e.clientWidth > 2 && !e.matches("input, select, textarea") && e.scrollWidth > e.clientWidth + 1))
				wide.push((open ? "details open: " : "") + e.outerHTML.slice(0, 200));
		}
	}
	details.forEach((d, n) => d.open = before[n]);
	return wide;
})()`

var looks = []look{
	{"desktop", 1440, 900, false},
	{"desktop-dark", 1440, 900, true},
	{"phone", 390, 760, false},
	{"phone-dark", 390, 760, true},
	{"narrow", 280, 653, false},
}

// The pages of sign-in in a browser: they fit into any width, follow the system's colours, begin in the field that is
// next, are gone through with the keyboard, and need no JavaScript.
func TestSignInPages(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	issuer, home := ports.url("/signin"), fmt.Sprintf("http://localhost:%d", ports.partner)
	(&provider{&system{t: t, admin: ports.admin}, issuer}).post201("/oauth-clients", map[string]any{
		"id": "payroll", "name": "Lohnabrechnung der Beispiel-Gesellschaft", "redirectUris": []string{home + "/callback"},
		"consent": true,
	})
	request := func(client, locale string) string {
		return issuer + "/oauth/authorize?" + url.Values{"response_type": {"code"}, "client_id": {client},
			"scope":        {"openid profile email"},
			"redirect_uri": {home + "/callback"}, "ui_locales": {locale}}.Encode()
	}
	c := startChromium(t, "--accept-lang=en")
	c.as(looks[0])
	c.open(request("demo", "en"))
	c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	c.open(request("demo", "en"))
	looksGood := func(page string) {
		t.Helper()
		c.fits(page)
		c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}) // axe is a script
		c.accessible(page)
		c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	}
	require.Equal(t, "email", c.focus())
	for _, want := range []string{"password", "sign-in", "cancel"} {
		c.press("\uE004") // Tab
		require.Equal(t, want, c.focus())
	}
	backs := map[bool]string{}
	for _, l := range looks {
		c.as(l)
		var back string
		c.evaluate("getComputedStyle(document.body).backgroundColor", &back)
		if l.width > 600 { // on a phone there is no margin around the card
			backs[l.dark] = back
		}
	}
	require.Len(t, backs, 2)
	require.NotEqual(t, backs[false], backs[true], "the colours are the system's")
	c.open(request("demo", "en"))
	c.fits("sign-in")

	c.fill("#email", "ada@example.com")
	c.fill("#password", "correct pony\uE007") // Enter
	c.find("#password-error")
	require.Equal(t, "password", c.focus(), "what is wrong is next")
	c.fits("sign-in-wrong")

	c.open(request("demo", "de"))
	require.Equal(t, "Passwort", c.text("label[for=password]"))
	c.click("button[value=sign-in]")
	c.find("#email-error")
	require.Equal(t, "email", c.focus())
	c.fits("sign-in-german")

	c.open(issuer + "/oauth/authorize?client_id=nobody")
	c.fits("untrusted")

	c.open(request("payroll", "de"))
	c.fill("#email", "ada@example.com")
	c.fill("#password", "correct horse\uE007")
	c.find("button[value=allow]")
	c.fits("consent")
	c.open(issuer + "/password")
	c.find("#current")
	looksGood("password")
	c.open(issuer + "/sessions")
	looksGood("sessions")
	c.open(issuer + "/second-factor")
	require.Equal(t, "current", c.focus())
	looksGood("second-factor")
	c.fill("#current", "correct horse\uE007")
	c.find("svg.qr")
	looksGood("second-factor-of-ones-own")
	c.open(issuer + "/oauth/logout")
	c.fits("sign-out")

	var users struct{ Items []struct{ ID string } }
	p := &system{t: t, admin: ports.admin}
	_, listed, err := p.manage(http.MethodGet, "/users?email=ada%40example.com", nil)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(listed, &users))
	require.Len(t, users.Items, 1)
	ada := "/users/" + users.Items[0].ID
	var link struct{ URL string }
	status, answer, err := p.manage(http.MethodPost, ada+"/recovery", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	require.NoError(t, json.Unmarshal(answer, &link))
	c.open(link.URL)
	require.Equal(t, "password", c.focus())
	looksGood("recovery")
	c.open(link.URL + "x")
	looksGood("recovery-over")

	c.open(home + "/")
	c.fits("partner")
	c.open(home + "/callback")
	c.fits("partner-refused")
	c.open(home + "/sign-in")
	c.awaitText(home+"/", "Hello, Ada Lovelace")
	c.fits("partner-signed-in")

	// With a second factor, which an authenticator app takes from the picture or the key.
	status, answer, err = p.manage(http.MethodPost, ada+"/totp", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	signIn := func() {
		c.open(home + "/sign-out")
		c.open(home + "/sign-in")
		c.fill("#email", "ada@example.com")
		c.fill("#password", "correct horse\uE007")
		c.find("#code")
		require.Equal(t, "code", c.focus())
	}
	signIn()
	c.find("svg.qr")
	c.fits("second-factor-set-up")
	key := strings.ReplaceAll(c.text("code"), " ", "")
	c.fill("#code", "no code\uE007")
	c.find("#code-error")
	require.Equal(t, key, strings.ReplaceAll(c.text("code"), " ", ""))
	now, err := totp.GenerateCode(key, time.Now())
	require.NoError(t, err)
	c.fill("#code", now+"\uE007")
	c.awaitText(home+"/", "Hello, Ada Lovelace")
	signIn()
	c.fill("#code", now+"\uE007") // which was used
	c.find("#code-error")
	c.fits("second-factor-wrong")

	// A browser sends another form of such a domain than was typed.
	status, answer, err = p.manage(http.MethodPost, "/users",
		map[string]any{"email": "zoe@münchen.example", "name": "Zoë", "password": "correct horse"})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, "%s", answer)
	c.open(home + "/sign-in")
	c.fill("#email", "zoe@münchen.example")
	c.fill("#password", "correct horse\uE007")
	c.awaitText(home+"/", "Hello, Zoë")
}

// focus is the id of the element that has the focus, or its value.
func (c *chromium) focus() (focus string) {
	c.t.Helper()
	c.evaluate("document.activeElement.id || document.activeElement.value", &focus)
	return focus
}

// press presses keys, one after another, in whatever has the focus.
func (c *chromium) press(keys string) {
	c.t.Helper()
	var actions []any
	for _, key := range keys {
		actions = append(actions, map[string]any{"type": "keyDown", "value": string(key)},
			map[string]any{"type": "keyUp", "value": string(key)})
	}
	c.call(http.MethodPost, "/actions",
		map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keyboard", "actions": actions}}}, nil)
}
