package e2e

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Somebody applies in a frame of a career site that is 400 px high, with the keyboard alone and in German: 60 questions
// with long labels. Everything comes into view, and afterwards the site has the window. A site that is not allowed shows
// nothing of the form.
func TestApplicationFormInAFrame(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dir := t.TempDir()
	dev(t, dir, ports).line(devReady)
	s := &system{t: t, admin: ports.admin}
	s.put("/tenants/initech/jobs/LONG", longJob())
	site, other := careerSite(t), careerSite(t)
	config, err := os.ReadFile(filepath.Join(dir, "dev.Caddyfile"))
	require.NoError(t, err)
	allowing := strings.Replace(string(config), "origins http://localhost:8000", "origins "+site.URL, 1)
	require.NotEqual(t, string(config), allowing)
	loaded, err := http.Post("http://"+loopback(ports.admin)+"/load", "text/caddyfile", strings.NewReader(allowing))
	require.NoError(t, err)
	loaded.Body.Close()
	require.Equal(t, http.StatusOK, loaded.StatusCode)
	address := ports.url("/jobs/LONG?") + url.Values{"return_to": {site.URL + "/thanks"}}.Encode()
	framed := "/?" + url.Values{"form": {address}}.Encode()

	c := startChromium(t, "--accept-lang=de")
	c.as(looks[0])
	c.open(address)
	c.fitsInto("60 questions", 280, 390, 768, 1440)
	c.accessible("60 questions")

	c.open(other.URL + framed)
	c.frame(0)
	var shown string
	c.evaluate("location.protocol + document.documentElement.textContent", &shown)
	require.Contains(t, shown, "chrome-error:")
	require.NotContains(t, shown, "Vorname")

	c.open(site.URL + framed)
	c.frame(0)
	typed := map[string]string{"text": "Ada", "email": "ada.long@example.com", "decimal": "3.5", "tel": "+49 30 1234567",
		"date": "01022027", "textarea": "Nachts ist es ruhiger.", "radio": " ", "checkbox": " ", "select-one": "\uE015"} // arrow down
	const forgotten = "q12"
	answered := map[string]bool{forgotten: true}
	c.stepTo("submit", func(at step) {
		text, isField := typed[at.Type]
		require.True(t, at.Seen || !isField, "it is not in view, or its focus is not seen: %+v", at)
		if isField && !answered[at.ID] && !strings.Contains(at.ID, "-") { // of several options the first
			answered[at.ID] = true
			c.press(text)
		}
	})
	require.Len(t, answered, 60)
	c.press("\uE007") // Enter
	c.find(".summary")
	wrong := c.texts(".summary li")
	require.Len(t, wrong, 1)
	require.Contains(t, wrong[0], "?: Bitte wählen Sie eine Antwort")
	c.stepTo("A", nil)
	c.press("\uE007")
	require.Eventually(t, func() bool { return c.focus() == forgotten }, patience, 10*time.Millisecond, "the summary leads to the field")
	c.press(" \uE007")
	c.find(".receipt")
	require.Equal(t, "Danke, Ada", c.text("h1"))
	c.stepTo("A", nil)
	c.press("\uE007")
	c.frame(nil)
	c.awaitText(site.URL+"/thanks", "The site's own page of thanks")
	require.Eventually(t, func() bool {
		return strings.Contains(s.cli("candidate", "list", "initech", "--email", typed["email"]), "Ada")
	}, patience, 50*time.Millisecond, "the candidate is not at the service")
}

// careerSite is a site of pages that show a form in a frame, 400 px high.
func careerSite(t *testing.T) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/thanks" {
			_, _ = io.WriteString(w, `<!doctype html><html lang="en"><title>Thanks</title><p>The site's own page of thanks</p>`)
			return
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Jobs</title><iframe title="Apply" width="340" height="400" src="%s"></iframe>`,
			html.EscapeString(r.URL.Query().Get("form")))
	}))
	t.Cleanup(site.Close)
	return site
}

// longJob asks 60 questions of every format but File, with labels and options that are longer than a line.
func longJob() map[string]any {
	const word = "Krankenhausbetriebsgesellschaftsverwaltungsangestelltenvertretung"
	ask := func(id, format, label string, options ...string) map[string]any {
		return map[string]any{"id": id, "format": format, "isRequired": true, "label": label, "options": options}
	}
	questions := []any{ask("firstName", "Text", "Vorname"), ask("lastName", "Text", "Nachname"), ask("email", "Text", "E-Mail")}
	formats := []string{"Text", "Textarea", "Date", "Number", "Phone", "Select", "Checkbox"}
	for n := len(questions); n < 60; n++ {
		var options []string
		switch format := formats[n%len(formats)]; {
		case format == "Select" && n%2 == 1: // more than radio buttons are shown for
			options = []string{word, "Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"}
		case format == "Select", format == "Checkbox":
			options = []string{"Ja", "Nein, denn ich war noch nie in einer " + word}
		}
		questions = append(questions, ask(fmt.Sprint("long", n), formats[n%len(formats)],
			fmt.Sprintf("%d. Wie lange waren Sie in einer %s, und was haben Sie dort gelernt?", n, word), options...))
	}
	return map[string]any{"id": "job-long", "title": "Viele Fragen", "customFields": []any{}, "questions": questions}
}

// frame has what follows happen in a frame of the page, by its number; nil: in the page.
func (c *chromium) frame(id any) {
	c.t.Helper()
	c.call(http.MethodPost, "/frame", map[string]any{"id": id}, nil)
}

// step is where the focus is.
type step struct {
	ID, Type string
	Seen     bool // all of it is in view, and people see that it has the focus; of a date, the browser marks the part
}

// stepTo presses Tab until the focus is at an element of a type, and has each step on the way there looked at.
func (c *chromium) stepTo(kind string, see func(step)) {
	c.t.Helper()
	for range 500 {
		c.press("\uE004") // Tab
		var at step
		c.evaluate(`(e => { const box = e.getBoundingClientRect(); return {id: e.id, type: e.inputMode || e.type || e.tagName,
			seen: box.top > -1 && box.left > -1 && box.bottom < innerHeight + 1 && box.right < innerWidth + 1 &&
				(e.type == "date" || getComputedStyle(e).outlineStyle != "none")} })(document.activeElement)`, &at)
		if see != nil {
			see(at)
		}
		if at.Type == kind {
			return
		}
	}
	require.FailNow(c.t, "the keyboard does not lead to it", kind)
}
