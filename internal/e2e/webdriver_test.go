package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chromium is a headless Chromium that chromedriver drives, by W3C WebDriver.
type chromium struct {
	t       *testing.T
	session string // address
}

// elementKey is how WebDriver names an element (W3C WebDriver section 12.2).
const elementKey = "element-6066-11e4-a52e-4f735466cecf"

// startChromium starts a browser with an empty profile of its own. More flags may be given.
func startChromium(t *testing.T, flags ...string) *chromium {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	require.NoError(t, err, "Chromium is missing: run make deps")
	driver, err := exec.LookPath("chromedriver")
	require.NoError(t, err, "chromedriver is missing: run make deps")
	home := t.TempDir()
	port := freePorts(t, 1)[0]
	p := start(t, []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home}, driver,
		flag("port", port))
	t.Cleanup(func() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }) // with the browser, whatever became of it
	p.line("was started successfully")
	c := &chromium{t: t, session: fmt.Sprintf("http://%s/session", loopback(port))}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	c.call(http.MethodPost, "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome",
		"goog:chromeOptions": map[string]any{"binary": browser, "args": append([]string{
			"--headless", "--hide-scrollbars", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--no-proxy-server", "--user-data-dir=" + t.TempDir(),
		}, flags...)},
	}}}, &made)
	c.session += "/" + made.SessionID
	t.Cleanup(func() { c.call(http.MethodDelete, "", nil, nil) })
	return c
}

// call asks the driver, below the session's address.
func (c *chromium) call(method, path string, in, out any) {
	c.t.Helper()
	problem := c.try(method, path, in, out)
	require.Empty(c.t, problem, "%s %s", method, path)
}

// try is call that gives the driver's problem, such as "no such element".
func (c *chromium) try(method, path string, in, out any) (problem string) {
	c.t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		raw, err := json.Marshal(in)
		require.NoError(c.t, err)
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, c.session+path, body)
	require.NoError(c.t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	defer answer.Body.Close()
	var message struct{ Value json.RawMessage }
	require.NoError(c.t, json.NewDecoder(answer.Body).Decode(&message))
	if answer.StatusCode != http.StatusOK {
		return string(message.Value)
	}
	if out != nil {
		require.NoError(c.t, json.Unmarshal(message.Value, out), "%s", message.Value)
	}
	return ""
}

func (c *chromium) open(address string) {
	c.t.Helper()
	c.call(http.MethodPost, "/url", map[string]any{"url": address}, nil)
}

func (c *chromium) get(what string) (text string) {
	c.t.Helper()
	c.call(http.MethodGet, what, nil, &text)
	return text
}

func (c *chromium) address() string { c.t.Helper(); return c.get("/url") }

// find waits for the element of a CSS selector, and gives its address below the session's.
func (c *chromium) find(selector string) string {
	c.t.Helper()
	var found map[string]string
	require.Eventually(c.t, func() bool {
		return c.try(http.MethodPost, "/element", map[string]any{"using": "css selector", "value": selector}, &found) == ""
	}, patience, 10*time.Millisecond, "no %s", selector)
	return "/element/" + found[elementKey]
}

// text reads an element, once more where the page was left meanwhile.
func (c *chromium) text(selector string) (text string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		return c.try(http.MethodGet, c.find(selector)+"/text", nil, &text) == ""
	}, patience, 10*time.Millisecond, "the text of %s", selector)
	return text
}

func (c *chromium) fill(selector, text string) {
	c.t.Helper()
	field := c.find(selector)
	c.call(http.MethodPost, field+"/clear", map[string]any{}, nil)
	c.call(http.MethodPost, field+"/value", map[string]any{"text": text}, nil)
}

func (c *chromium) click(selector string) {
	c.t.Helper()
	c.call(http.MethodPost, c.find(selector)+"/click", map[string]any{}, nil)
}

// awaitText waits until the page of an address that begins so has a text.
func (c *chromium) awaitText(address, text string) {
	c.t.Helper()
	script := map[string]any{"script": "return [location.href, document.body.innerText]", "args": []any{}}
	require.Eventually(c.t, func() bool {
		var at []string // both at once: the page may change between two questions, and is none while it does
		return c.try(http.MethodPost, "/execute/sync", script, &at) == "" && len(at) == 2 &&
			strings.HasPrefix(at[0], address) && strings.Contains(at[1], text)
	}, patience, 20*time.Millisecond, "%q does not come up at %s; the browser is at %s", text, address, c.session)
}

// tell gives the browser a command of the Chrome DevTools Protocol.
func (c *chromium) tell(command string, parameters map[string]any) {
	c.t.Helper()
	c.call(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": command, "params": parameters}, nil)
}

// picture is the page as a PNG, at most maxPicture high.
func (c *chromium) picture() []byte {
	c.t.Helper()
	var size struct{ Width, Height int }
	c.evaluate("scrollTo(0, 0)", nil)
	c.evaluate("({width: innerWidth, height: Math.max(innerHeight, document.documentElement.scrollHeight)})", &size)
	var made struct{ Data []byte }
	c.call(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Page.captureScreenshot", "params": map[string]any{
		"captureBeyondViewport": true, "clip": map[string]any{"x": 0, "y": 0, "scale": 1, "width": size.Width,
			"height": min(size.Height, maxPicture)}}}, &made)
	return made.Data
}

// maxPicture is the height of the largest picture, in px.
const maxPicture = 3000
