package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An administrator connects a client without leaving the console, in at most 20 clicks, from its name to its first delivered
// export: what came before there was an integration goes out, and a sample takes the whole way. The first client of an empty
// gateway is connected with the keyboard alone and without script, the next one with the mouse.
func TestConnectInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	emptied(t, ports)
	console := ports.url("/console")
	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])

	c.open(console)
	c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	k := keys{c}
	k.open(console)
	k.fill("#email", "ops@example.com")
	k.fill("#password", "correct horse\uE007") // Enter
	k.awaitText(console, "Four steps to the first export")
	c.n = 0
	k.click(`.todo a[href$="/connect"]`)
	c.connect(k, ports, "northgate", "Northgate Logistics", func(string) {})
	c.open("data:text/html,<title>off</title><script>document.title = 'on'</script>")
	require.Equal(t, "off", c.get("/title"), "the whole way was without script")
	c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": false})

	c.open(console)
	c.n = 0
	c.click(`.rail a[href$="/tenants"]`)
	c.click(`a[href$="/connect"]`)
	c.connect(c, ports, "larkfield", "Larkfield Clinics", func(page string) {
		var scripts int
		c.evaluate("document.scripts.length", &scripts)
		require.Zero(t, scripts, page)
		c.fitsInto(page, 280, 390, 768, 1024, 1280, 1440, 1920)
		c.accessible(page)
		for suffix, l := range map[string]look{"": {width: 1280, height: 800}, "-dark": {width: 1280, height: 800, dark: true},
			"-phone": looks[2], "-phone-dark": looks[3]} {
			c.as(l)
			c.kept("console-" + page + suffix)
		}
		c.as(looks[0])
	})
}

// emptied removes all tenants of `hiregate dev`.
func emptied(t *testing.T, ports devPorts) {
	t.Helper()
	s := &system{t: t, admin: ports.admin}
	for _, path := range []string{"/tenants/initech/integrations/acme?force=true", "/tenants/initech"} {
		status, answer, err := s.manage(http.MethodDelete, path, nil)
		require.NoError(t, err)
		require.Equal(t, 2, status/100, "%s: %s", path, answer)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+loopback(ports.admin)+"/config/apps/hiregate/tenants", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	var left struct{ Items []struct{ ID string } }
	s.read("/tenants", &left)
	require.Empty(t, left.Items)
}

// hand is what somebody uses a browser with.
type hand interface {
	click(selector string)
	fill(selector, text string)
}

// keys are those of a keyboard, which reach everything with Tab. What Enter presses counts as a click.
type keys struct{ *clicks }

func (k keys) reach(selector string) {
	k.t.Helper()
	k.find(selector)
	focused := func() (there bool) {
		k.evaluate(fmt.Sprintf("document.activeElement == document.querySelector(%q)", selector), &there)
		return there
	}
	for range 100 {
		if focused() {
			return
		}
		k.press("\uE004") // Tab
	}
	require.FailNow(k.t, "the keyboard does not reach "+selector)
}

func (k keys) click(selector string) {
	k.t.Helper()
	k.reach(selector)
	k.n++
	k.press("\uE007") // Enter
}

func (k keys) fill(selector, text string) {
	k.t.Helper()
	k.reach(selector)
	k.press(text)
}

// connect goes through the steps that connect a client, from the form for its name on. look looks at pages that are seen on
// the way.
func (c *clicks) connect(with hand, ports devPorts, id, name string, look func(page string)) {
	c.t.Helper()
	var exports atomic.Int64
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer of-the-client" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		} else if strings.Contains(string(body), `"candidate"`) {
			exports.Add(1)
		}
	}))
	c.t.Cleanup(client.Close)
	console := ports.url("/console")
	steps := console + "/connect/" + id

	c.awaitText(console+"/connect", "What you will need")
	with.fill("#name", name)
	with.fill("#id", id)
	with.click("form.entry button")
	c.awaitText(console+"/connect", "Secret, shown only now")
	look("connect-inbound")
	inbound, secret := c.text("#url"), c.text("#once")
	require.Equal(c.t, ports.url("/hooks/"+id), inbound)
	out, code := run(c.t, nil, hiregate(c.t), "send", inbound, "--secret", secret)
	require.Zero(c.t, code, out)
	c.eventually(steps+"/1", func() bool { return strings.Contains(c.text("#main"), "a signed request came") })

	with.click(".acts.last a")
	c.awaitText(steps+"/2", "Where do the exports of "+name+" go?")
	with.fill("#name", "hris")
	with.fill("#url", client.URL+"/inbound/"+id)
	with.click("form.entry button")
	c.awaitText(steps+"/2", "it asks for the authentication scheme Bearer")
	look("connect-failed")
	with.click(".entry > details summary")
	with.fill("#bearer", "of-the-client")
	with.click("form.entry button")
	c.awaitText(steps+"/2", "VERIFY was answered with exactly 200")
	look("connect-passed")
	with.click("form.entry button")
	c.awaitText(steps+"/2", "1 export came before, and is not delivered")
	look("connect-earlier")
	with.click(`form[action$="/earlier"] button`)
	c.awaitText(steps+"/3", "What came before is being delivered.")
	with.click(`form[action$="/3"] button`)
	c.awaitText(steps+"/3?", "The way of the sample")
	c.eventually(c.address(), func() bool { return c.text("h1") == name+" is connected" }) // it looks again by itself, every 5 s
	require.LessOrEqual(c.t, c.n, 20)
	look("connect-sample")
	require.Eventually(c.t, func() bool { return exports.Load() >= 2 }, patience, 100*time.Millisecond,
		"what came before and the sample are delivered")
}
