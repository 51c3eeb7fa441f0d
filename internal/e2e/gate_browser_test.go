package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// newPages starts an application whose pages show their address and who asks, open a websocket, and get events.
func newPages(t *testing.T) string {
	t.Helper()
	port := freePorts(t, 1)[0]
	start(t, nil, "node", "testdata/application.mjs", fmt.Sprint(port)).line("^listening")
	return loopback(port)
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
