package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Somebody applies on the form, in a browser without script: what is wrong is shown at its field and stays there, the resume
// is kept, and the application is a candidate at the service that the tenant is relayed to.
func TestApplicationForm(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dir := t.TempDir()
	dev(t, dir, ports).line(devReady)
	address := ports.url("/jobs/NURSE-1")
	c := startChromium(t, "--accept-lang=en")
	c.as(looks[0])
	c.open(address)
	c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	c.open(address + "?source=Flyer")
	require.Equal(t, "Registered Nurse – Night Shift", c.text("h1"), "as the feed says")
	c.fits("apply-form")
	c.open(address + "?source=Flyer")

	c.fill("#q0", "Ada")
	c.press("\uE004") // Tab
	require.Equal(t, "q1", c.focus(), "the last name is next")
	c.fill("#q1", "Lovelace")
	c.fill("#q2", "ada.lovelace@")
	resume := filepath.Join(dir, "resume of Ada.pdf")
	small, err := os.ReadFile("../../testdata/samples/resume.pdf")
	require.NoError(t, err)
	large := append(small, []byte(strings.Repeat("\n% "+strings.Repeat("x", 60), 30_000))...) // 1.9 MB
	require.NoError(t, os.WriteFile(resume, large, 0o600))
	c.fill("#q5", resume)
	c.click("#q7-2")
	c.fill("#q8", "3,5")
	c.click("form button")
	c.find(".summary")
	require.Equal(t, []string{"E-mail: Write one whole e-mail address, such as ann@example.com",
		"Work authorization: Please choose an answer", "Years of experience: Write a number in digits, such as 3 or 2.5",
		c.text("section .field legend") + ": Please choose an answer"}, c.texts(".summary li"))
	require.Contains(t, c.text(".kept"), "resume of Ada.pdf", "1.9 MB, kept")
	c.fits("apply-form-errors")

	c.click(".summary li:nth-child(2) a")
	require.Contains(t, c.address(), "#q6")
	for _, option := range []string{"#q6", "section .field:last-of-type label:last-child input"} {
		c.click(option)
	}
	c.fill("#q2", "ada.lovelace@example.com")
	c.fill("#q8", "3.5")
	c.click("form button")
	c.find(".receipt")
	require.Equal(t, "Thank you, Ada", c.text("h1"))
	c.fits("apply-form-thanks")
	receipt := c.text(".receipt")
	c.click(".message a")
	c.find(".message.ok")
	require.Contains(t, c.address(), "/jobs/receipts/"+receipt)
	s := &system{t: t, admin: ports.admin}
	require.Contains(t, s.cli("submission", "show", "acme/"+receipt), "delivered", "acme is relayed to initech")
	require.Contains(t, s.cli("candidate", "list", "initech", "--email", "ada.lovelace@example.com"), "Lovelace")
	c.open(ports.url("/jobs/GONE"))
	c.fits("apply-form-closed")

	c.tell("Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
	for _, page := range []string{"/jobs/NURSE-1", "/jobs/NURSE-1?lang=de", "/jobs/GONE", "/jobs/receipts/" + receipt} {
		c.open(ports.url(page))
		c.accessible(page)
	}
	c.open(address)
	c.click("form button")
	c.find(".summary")
	c.accessible("the form with errors")
}
