package e2e

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// company is an OpenID provider on oidc-provider, where everybody signs in who gives their name.
type company struct {
	t      *testing.T
	issuer string
}

// newCompany starts a provider for an application behind the gate.
func newCompany(t *testing.T, port int, application string) company {
	t.Helper()
	start(t, []string{"ACME_SECRET=what-the-application-is-known-by"}, "node", oidcProvider(t, "sign-in.mjs"), fmt.Sprint(port),
		application).line("listening")
	return company{t, "http://" + loopback(port)}
}

// ask asks the provider for something that only the tests' one does.
func (c company) ask(method, path string) string {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.issuer+path, nil)
	require.NoError(c.t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(c.t, err)
	require.Less(c.t, answer.StatusCode, 300, "%s", body)
	return string(body)
}

// hoursLater lets access tokens of the gate's sessions end, and the provider's word in sign-in grow old.
func (a *alone) hoursLater(hours int) {
	a.t.Helper()
	a.change(fmt.Sprintf(`UPDATE console_sessions SET refresh_at = refresh_at - %[1]d, confirmed_till = confirmed_till - %[1]d`, hours*3_600_000_000),
		fmt.Sprintf(`UPDATE upstream_sessions SET asked_at = asked_at - %[1]d, paused_till = paused_till - %[1]d`, hours*3_600_000_000))
}

// At oidc-provider, a page behind the gate leads to sign-in and back. The session is refreshed, and
// ends with a sign-out, with a logout token, and within the hour after somebody was disabled.
func TestGateAtOIDCProvider(t *testing.T) {
	t.Parallel()
	port := freePorts(t, 1)[0]
	a := newAlone(t, fmt.Sprintf(`http://localhost:PORT {
	bind 127.0.0.1
	signin_gate {
		provider http://%s {
			client acme what-the-application-is-known-by
		}
		key "a text of more than thirty-two characters"
		allow email *@example.com
	}
	reverse_proxy %s
}
`, loopback(port), newPages(t)))
	their := newCompany(t, port, a.url(""))
	c := startChromium(t)
	signIn := func(page string) {
		c.open(a.url(page))
		c.awaitText(their.issuer+"/sign-in/", "Who are you?")
		c.fill("[name=name]", "ada")
		c.click("button")
		c.awaitText(a.url(page), page+" for ada@example.com")
	}
	in := func() bool {
		var status int
		c.evaluate("fetch('/oauth2/userinfo').then(answer => answer.status)", &status)
		require.Contains(t, []int{http.StatusOK, http.StatusUnauthorized}, status)
		return status == http.StatusOK
	}
	signIn("/deep/link?q=%2F&x=1")
	c.awaitText(a.url("/deep"), "hello ada@example.com")
	require.True(t, in())
	require.Equal(t, "0", their.ask(http.MethodGet, "/refreshed"))
	a.hoursLater(1)
	require.True(t, in())
	require.Equal(t, "1", their.ask(http.MethodGet, "/refreshed"))

	their.ask(http.MethodPost, "/people/grace/logout")
	require.True(t, in())
	their.ask(http.MethodPost, "/people/ada/logout")
	require.False(t, in())
	c.open(a.url("/second"))
	c.awaitText(a.url("/second"), "/second for ada@example.com") // she is signed in at the provider
	c.open(a.url("/oauth2/sign_out"))
	c.awaitText(their.issuer+"/session/end", "Sign out")
	c.click("button")
	c.awaitText(their.issuer+"/session/end/success", "You have signed out")

	signIn("/third")
	their.ask(http.MethodPost, "/people/ada/disable")
	require.True(t, in(), "the provider is asked when the access token ends")
	a.hoursLater(1)
	require.False(t, in())
}
