package e2e

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// An administrator sets up and tests an integration: a partner that does not answer VERIFY with 200 is not kept, and one
// that refuses what it gets afterwards is told by a test export.
func TestSetUpInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	var status atomic.Int64
	status.Store(http.StatusNotFound)
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(partner.Close)
	console := ports.url("/console")
	tenant, added := console+"/tenants/initech", console+"/tenants/initech/integrations/payroll"

	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])
	c.signInTo(console, "ops@example.com")
	c.task(tenant, 2, func() { // a bad partner
		c.click(`a[href$="/new-integration"]`)
		c.fill("#name", "payroll")
		c.fill("#url", partner.URL+"/initech")
		c.click("form.entry button")
		c.awaitText(tenant, "nothing was saved: VERIFY was answered 404")
	})
	c.fits("console-integration-refused")
	c.accessible("a refused integration")
	status.Store(http.StatusOK)
	c.n = 0
	c.click("form.entry button") // a good one: the form kept what was typed
	c.awaitText(added, "It answered VERIFY with 200, and is saved.")
	require.Equal(t, 1, c.n)
	c.task(added, 1, func() {
		c.click(`form[action$="/test"] button`)
		c.awaitText(added, "The test export was received.")
	})
	status.Store(http.StatusUnprocessableEntity)
	c.task(added, 1, func() {
		c.click(`form[action$="/test"] button`)
		c.awaitText(added, "The test export was not received.")
		require.Contains(t, c.text("#main"), "422")
	})
	c.task(added, 3, func() {
		c.click(".remove summary")
		c.click(".remove input")
		c.click(".remove button")
		c.awaitText(tenant, "It is removed.")
	})
}
