package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An administrator connects a client without leaving the console, without any script, from its name to its first delivered
// export: what came before there was an integration goes out, and a sample takes the whole way.
func TestConnectInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	var exports atomic.Int64
	var token atomic.Bool
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if token.Load() && r.Header.Get("Authorization") != "Bearer of-the-client" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		} else if strings.Contains(string(body), `"candidate"`) {
			exports.Add(1)
		}
	}))
	t.Cleanup(client.Close)
	token.Store(true)
	console := ports.url("/console")
	steps := console + "/connect/larkfield"

	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])
	look := func(page string) {
		var scripts int
		c.evaluate("document.scripts.length", &scripts)
		require.Zero(t, scripts, page)
		c.fits(page)
		c.accessible(page)
	}
	c.signInTo(console, "ops@example.com")
	c.open(console)
	c.n = 0
	c.click(`.rail a[href$="/tenants"]`)
	c.click(`a[href$="/connect"]`)
	c.awaitText(console+"/connect", "What you will need")
	c.fill("#name", "Larkfield Clinics")
	c.fill("#id", "larkfield\uE007") // Enter
	c.awaitText(console+"/connect", "Secret, shown only now")
	look("console-connect-inbound")
	inbound, secret := c.text("#url"), c.text("#once")
	require.Equal(t, ports.url("/hooks/larkfield"), inbound)
	out, code := run(t, nil, hiregate(t), "send", inbound, "--secret", secret)
	require.Zero(t, code, out)
	c.eventually(steps+"/1", func() bool { return strings.Contains(c.text("#main"), "a signed request came") })

	c.click(".acts.last a")
	c.awaitText(steps+"/2", "Where do the exports of Larkfield Clinics go?")
	c.fill("#name", "hris")
	c.fill("#url", client.URL+"/inbound/larkfield")
	c.click("form.entry button")
	c.awaitText(steps+"/2", "it asks for the authentication scheme Bearer")
	look("console-connect-failed")
	c.click(".entry > details summary")
	c.fill("#bearer", "of-the-client")
	c.click("form.entry button")
	c.awaitText(steps+"/2", "VERIFY was answered with exactly 200")
	look("console-connect-passed")
	c.click("form.entry button")
	c.awaitText(steps+"/2", "1 export came before, and is not delivered")
	look("console-connect-earlier")
	c.click(`form[action$="/earlier"] button`)
	c.awaitText(steps+"/3", "What came before is being delivered.")
	c.click(`form[action$="/3"] button`)
	c.awaitText(steps+"/3", "Larkfield Clinics is connected")
	require.LessOrEqual(t, c.n, 20)
	look("console-connect-sample")
	require.Eventually(t, func() bool { return exports.Load() >= 2 }, patience, 100*time.Millisecond, "what came before and the sample are delivered")
}
