package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A recruiter sees a job as its applicants do, and what the Apply API would refuse.
func TestConsoleJobsInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	console := ports.url("/console")
	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])
	c.signInTo(console, "recruiter@example.com")
	page := console + "/jobs/initech/NURSE-1"
	c.task(console, 3, func() {
		c.click(`.rail a[href="/console/jobs"]`)
		c.click(`td a[href="/console/jobs/initech/NURSE-1"]`)
		c.fill(`input[name="answer.email"]`, "not an address")
		c.click("form[enctype] button")
		c.awaitText(page+"/check", "The Apply API would refuse this")
	})
	require.Contains(t, c.text("#main"), "write one e-mail address and nothing else")
	c.fits("console-job-checked")
	c.accessible("job-checked")
}
