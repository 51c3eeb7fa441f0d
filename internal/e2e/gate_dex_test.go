package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newDex starts dex with applications, each by its id and where people return to.
func newDex(t *testing.T, port int, applications ...string) company {
	t.Helper()
	web, err := exec.CommandContext(t.Context(), "go", "-C", filepath.Join("..", "..", "cmd", "dex-dev"), "list", "-m", "-f", "{{.Dir}}",
		"github.com/dexidp/dex").Output()
	require.NoError(t, err)
	their := company{t, "http://" + loopback(port)}
	p := start(t, []string{"SECRET=what-the-application-is-known-by"}, program(t, "DEX_DEV_BIN", "dex-dev"),
		append([]string{"-issuer", their.issuer, "-web", filepath.Join(strings.TrimSpace(string(web)), "web")}, applications...)...)
	require.Eventually(t, func() bool { return p.hasEnded() || !isFree(port) }, patience, 20*time.Millisecond)
	require.False(t, p.hasEnded(), "dex ended:\n%s", p.out.String())
	return their
}

// At dex, people sign in to an application behind the gate, and at our own sign-in to another one. Dex answers 500 about
// somebody who was removed there: they are out of the first when the hour for a provider that does not answer is over, and
// of the second after the twelve hours of one in upstream_oidc.
func TestGateAtDex(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 2)
	dex := "http://" + loopback(ports[0])
	a := newAlone(t, fmt.Sprintf(`http://localhost:PORT, http://127.0.0.1:PORT {
	bind 127.0.0.1
	handle_path /signin/* {
		signin {
			base_url http://localhost:PORT/signin
			key "a text of more than thirty-two characters"
			upstream_oidc staff {
				issuer %[1]s
				domains example.com
				client_id hiregate
				client_secret what-the-application-is-known-by
			}
		}
	}
	handle {
		signin_gate {
			provider %[1]s {
				host localhost
				client acme what-the-application-is-known-by
			}
			provider http://localhost:PORT/signin {
				host 127.0.0.1
				client acme what-the-application-is-known-by
			}
			key "a text of more than thirty-two characters"
			allow email *@example.com
		}
		reverse_proxy %[2]s
	}
}
`, dex, newPages(t)))
	first, second := a.url(""), "http://"+loopback(a.http)
	a.post201("/oauth-clients", map[string]any{"id": "acme", "name": "Acme", "secret": "what-the-application-is-known-by",
		"redirectUris": []string{second + "/oauth2/callback"}})
	their := newDex(t, ports[0], "acme="+first+"/oauth2/callback", "hiregate="+first+"/signin/oauth/upstream/staff/callback")
	c := startChromium(t)
	atDex := func() {
		c.awaitText(dex+"/auth/local", "Log in to Your Account")
		c.fill("#login", "ada@example.com")
		c.fill("#password", "correct horse")
		c.click("#submit-login")
	}
	in := func(at string) bool {
		c.open(at + "/oauth2/userinfo") // which answers, and leads nowhere
		var status int
		c.evaluate("fetch('/oauth2/userinfo').then(answer => answer.status)", &status)
		require.Contains(t, []int{http.StatusOK, http.StatusUnauthorized}, status)
		return status == http.StatusOK
	}

	c.open(first + "/deep/link?q=%2F&x=1")
	atDex()
	c.awaitText(first+"/deep", "/deep/link?q=%2F&x=1 for ada@example.com")
	c.awaitText(first+"/deep", "hello ada@example.com")
	c.open(second + "/deep?y=2")
	c.awaitText(first+"/signin/oauth/authorize?", "Acme")
	c.fill("#email", "ada@example.com\uE007")
	c.awaitText(first+"/signin/oauth/sign-in", "Sign in at")
	c.click("form[action$=upstream] button[value=sign-in]")
	atDex()
	c.awaitText(second+"/deep", "/deep?y=2 for ada@example.com")
	a.hoursLater(1)
	require.Equal(t, []bool{true, true}, []bool{in(first), in(second)}, "dex refreshes what it issued")

	their.ask(http.MethodDelete, "/people/ada@example.com")
	a.hoursLater(1)
	require.Equal(t, []bool{true, true}, []bool{in(first), in(second)}, "dex answers 500")
	a.hoursLater(1)
	require.Equal(t, []bool{false, true}, []bool{in(first), in(second)})
	a.hoursLater(10)
	require.False(t, in(second))
	c.open(first + "/")
	c.awaitText(dex+"/auth/local", "Log in to Your Account")
}
