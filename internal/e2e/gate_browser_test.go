package e2e

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newPages starts an application whose pages show their address and who asks, open a websocket, and get events.
func newPages(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/socket":
			greet(w, r)
			return
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: news for %s\n\n", r.Header.Get("X-Auth-Request-Email"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html>
<title>The application</title>
<p>%s for %s</p>
<p id="socket">connecting</p>
<p id="events">waiting</p>
<script>
const said = document.getElementById("socket"), socket = new WebSocket("ws://" + location.host + "/socket")
socket.onmessage = message => said.textContent = message.data
socket.onclose = () => said.textContent = "closed"
const told = document.getElementById("events"), events = new EventSource("/events")
events.onmessage = message => told.textContent = message.data
events.onerror = () => { if (events.readyState === EventSource.CLOSED) told.textContent = "ended" }
</script>
`, html.EscapeString(r.RequestURI), html.EscapeString(r.Header.Get("X-Auth-Request-Email")))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// greet says hello to a person by a websocket (RFC 6455), which lasts until the other side ends it.
func greet(w http.ResponseWriter, r *http.Request) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer connection.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	hello := "hello " + r.Header.Get("X-Auth-Request-Email")
	fmt.Fprintf(connection, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n\x81%c%s", base64.StdEncoding.EncodeToString(sum[:]), len(hello), hello)
	_, _ = io.Copy(io.Discard, connection)
}

// In a real browser, three tabs of somebody who has to sign in first each end on their own page, in another order. A
// websocket and server-sent events are that person's as well, and end after a sign-out in another tab. Signed out, they are
// asked again.
func TestGateInABrowser(t *testing.T) {
	t.Parallel()
	a := newAlone(t, `http://localhost:PORT {
	bind 127.0.0.1
	handle_path /signin/* {
		signin {
			base_url http://localhost:PORT/signin
			key "a text of more than thirty-two characters"
		}
	}
	handle {
		signin_gate {
			provider http://localhost:PORT/signin {
				client acme what-the-application-is-known-by
			}
			key "a text of more than thirty-two characters"
			allow email *@example.com
		}
		reverse_proxy `+newPages(t)+`
	}
}
`)
	a.addAda(a.url("/oauth2/callback"))
	c := startChromium(t)
	pages := []string{"/deep/link?q=%2F&x=1", "/second", "/third"}
	var tabs []string
	for _, page := range pages {
		var tab struct{ Handle string }
		c.call(http.MethodPost, "/window/new", map[string]any{"type": "tab"}, &tab)
		tabs = append(tabs, tab.Handle)
		c.turnTo(tab.Handle)
		c.open(a.url(page))
		c.awaitText(a.url("/signin/oauth/authorize?"), "Acme")
	}
	for _, n := range []int{1, 2, 0} {
		c.turnTo(tabs[n])
		c.fill("#email", "ada@example.com")
		c.fill("#password", "correct horse")
		c.click("button[value=sign-in]")
		c.awaitText(a.url(pages[n]), pages[n]+" for ada@example.com")
		c.awaitText(a.url(pages[n]), "hello ada@example.com")
	}
	c.awaitText(a.url(pages[0]), "news for ada@example.com")

	c.turnTo(tabs[1])
	c.open(a.url("/oauth2/sign_out"))
	c.awaitText(a.url("/oauth2/sign_out"), "You are signed out")
	c.open(a.url("/third"))
	c.awaitText(a.url("/signin/oauth/authorize?"), "Acme")
	c.turnTo(tabs[0])
	c.awaitText(a.url(pages[0]), "closed")
	c.awaitText(a.url(pages[0]), "ended")
}

func (c *chromium) turnTo(tab string) {
	c.t.Helper()
	c.call(http.MethodPost, "/window", map[string]any{"handle": tab}, nil)
}
