package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// picky is a partner that answers VERIFY with 200, and refuses each export.
func picky(t *testing.T) *httptest.Server {
	t.Helper()
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Service-Event") == "CANDIDATE-EXPORT" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, "The cost centre 4411-07 is closed <since May>.")
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// A recruiter exports a candidate and sees it arrive, or what the partner has against it, and moves a job application
// into a step whose helper exports.
func TestCandidatesInABrowser(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	system := dev(t, t.TempDir(), ports)
	system.line(devReady)
	secret := filepath.Join(t.TempDir(), "their.secret")
	require.NoError(t, os.WriteFile(secret, []byte("their-signing-secret"), 0o600))
	out, code := run(t, nil, hiregate(t), "integration", "set", "initech/picky", "--url", picky(t).URL+"/initech",
		"--secret-file", secret, "--admin="+loopback(ports.admin))
	require.Zero(t, code, out)
	console := ports.url("/console")
	zoe := console + "/candidates/initech/c-zoe"

	c := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	c.as(looks[0])
	c.signInTo(console, "recruiter@example.com")
	arrived := func() {
		c.awaitText(zoe, "It was received.")
		found := regexp.MustCompile(`exported=([0-9a-f-]{36})`).FindStringSubmatch(c.address())
		require.Len(t, found, 2)
		system.line(`^partner  \| .*  export +acme  ` + found[1] + `  signature valid  2 documents `)
	}
	c.task(console, 2, func() { // to the first integration, for the first job application
		c.click(`.rail a[href="/console/candidates"]`)
		c.fill("#sought", "zoe.odegard@example.org\uE007")
		c.awaitText(zoe, "Export Candidate")
		c.choose("#integration", "acme")
		c.click(`form[action$="/exports"] button`)
		arrived()
	})
	exported := c.address()
	c.task(zoe, 1, func() {
		c.choose("#integration", "picky")
		c.click(`form[action$="/exports"] button`)
		c.awaitText(zoe, "It was not received. It is tried again by itself")
		require.Contains(t, c.text("#main"), "The cost centre 4411-07 is closed <since May>.")
	})
	refused := c.address()
	c.task(zoe, 1, func() {
		c.choose("#step-0", "Offer accepted")
		c.click(`form[action$="/step"] button`)
		c.awaitText(zoe, "The job application has entered the step.")
		arrived()
	})
	admin := &clicks{chromium: startChromium(t, "--accept-lang=en")}
	admin.as(looks[0])
	admin.signInTo(console, "ops@example.com")
	admin.task(console+"/steps/initech", 2, func() { // what a helper exports is an administrator's to change
		admin.click("main section:nth-of-type(2) summary")
		admin.click("main section:nth-of-type(2) button")
		admin.awaitText(console+"/steps/initech", "The helper is saved.")
	})

	for page, address := range map[string]string{"candidate-exported": exported, "candidate-refused": refused} {
		c.open(address)
		c.fits("console-" + page)
		c.accessible(page)
		require.NotContains(t, strings.ToLower(address), "zoe.odegard", fmt.Sprint("personal data in ", address))
	}
}

// choose types the beginning of an option of a list.
func (c *chromium) choose(selector, option string) {
	c.t.Helper()
	c.call(http.MethodPost, c.find(selector)+"/value", map[string]any{"text": option}, nil)
}
