package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// TestTemporalUI looks at a group as somebody in Temporal's UI does: what it carries, which deliveries wait and for what, and
// what became of them.
func TestTemporalUI(t *testing.T) {
	t.Parallel()
	var exports []*model.Export
	var keys []string
	for range 41 {
		key := uuid.NewString()
		keys, exports = append(keys, key), append(exports, waiting(key, minimal(key)))
	}
	var mu sync.Mutex
	answers := map[string]int{keys[7]: http.StatusServiceUnavailable, keys[30]: http.StatusServiceUnavailable}
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if status := answers[r.Header.Get("X-Service-UUID")]; status != 0 {
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(partner.Close)
	s := newConfiguration(t, setup{tenant: fmt.Sprintf("integration hris {\nurl %s/inbound?client=acme\nsecret %s\nretry 5s\nverify off\n}\n",
		partner.URL, outboundSecret)})
	s.ui = freePorts(t, 1)[0]
	s.startTemporal()
	for _, e := range exports {
		e.Integrations = []string{"hris"}
	}
	acceptAll(t, "sqlite://"+filepath.Join(s.dir, "hiregate.db"), exports)
	s.startGateway()
	group := s.groupOf(s.temporalClient(), keys)
	require.Regexp(t, `^exports/acme/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/\d+$`, group)

	c := startChromium(t)
	c.as(look{width: 1280, height: 1000})
	ui := "http://" + loopback(s.ui) + "/namespaces/default/workflows"
	tab := func(name string) {
		c.open(ui + "/" + strings.ReplaceAll(group, "/", "%2F"))
		c.awaitText(ui, name)
		c.evaluate(fmt.Sprintf("[...document.querySelectorAll('a')].find(a => a.innerText.startsWith(%q)).click()", name), nil)
	}
	tab("User Metadata")
	c.awaitFrames("41 exports of acme → hris", "Exports of that time in the console", "2 of 41 deliveries wait: 2 partner_fault: status 503")
	tab("Pending Activities")
	for _, text := range []string{"acme/" + keys[7], "acme/" + keys[30], `"status": 503`} {
		c.awaitText(ui, text)
	}
	c.kept("temporal")

	mu.Lock()
	clear(answers)
	mu.Unlock()
	require.NoError(t, s.temporalClient().GetWorkflow(t.Context(), group, "").Get(t.Context(), nil))
	tab("User Metadata")
	c.awaitFrames("41 exports of acme → hris", "Exports of that time in the console", "41 delivered")
}

// awaitFrames waits until the frames of a page have these texts, each its own.
func (c *chromium) awaitFrames(texts ...string) {
	c.t.Helper()
	for n, want := range texts {
		var text string
		require.Eventually(c.t, func() bool {
			defer c.try(http.MethodPost, "/frame", map[string]any{"id": nil}, nil)
			return c.try(http.MethodPost, "/frame", map[string]any{"id": n}, nil) == "" &&
				c.try(http.MethodPost, "/execute/sync", map[string]any{"script": "return document.body.innerText", "args": []any{}}, &text) == "" &&
				strings.TrimSpace(text) == want
		}, patience, 50*time.Millisecond, "frame %d has %q", n, text)
	}
}
