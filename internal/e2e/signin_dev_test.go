package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Somebody signs in at the sample partner of hiregate dev, which shows the claims, and out again; also after a restart
// of all of it.
func TestSignInAtTheSamplePartner(t *testing.T) {
	t.Parallel()
	ports, dir := newDevPorts(t), t.TempDir()
	first := dev(t, dir, ports)
	first.line(devReady)
	home, issuer := fmt.Sprintf("http://localhost:%d", ports.partner), ports.url("/signin")
	first.line(fmt.Sprintf(`^  sample partner +%s\n    ada@example\.com +signs in there$`, home))

	ada := newSurfer(t)
	ada.open(fmt.Sprintf("http://127.0.0.1:%d/", ports.partner)) // which the cookies of localhost don't reach
	require.Contains(t, ada.text, "<h1>Sign in</h1>")
	require.Regexp(t, `listening since`, ada.text, "the counts of the webhook are there, too")
	ada.follow("Sign in")
	require.Equal(t, ports.url("/signin/oauth/authorize"), "http://"+ada.at.Host+ada.at.Path)
	q := ada.at.Query()
	require.Equal(t, "code", q.Get("response_type"))
	require.Equal(t, "S256", q.Get("code_challenge_method"))
	require.Equal(t, home+"/callback", q.Get("redirect_uri"))
	require.Len(t, q.Get("code_challenge"), 43)
	require.NotEmpty(t, q.Get("state"))
	require.NotEmpty(t, q.Get("nonce"))
	require.Contains(t, ada.text, "to continue to Sample partner")

	ada.submit(url.Values{"email": {"ada@example.com"}, "password": {"correct pony"}, "action": {"sign-in"}})
	require.Equal(t, http.StatusForbidden, ada.status)
	ada.submit(url.Values{"email": {"ada@example.com"}, "password": {"correct horse"}, "action": {"sign-in"}})
	require.Equal(t, http.StatusOK, ada.status, ada.text)
	require.Equal(t, home+"/", ada.at.String())
	for _, shown := range []string{"Hello, Ada Lovelace", "<td>ada@example.com</td>", `<th scope="row">sub</th>`,
		"<td>" + issuer + "</td>", `<th scope="row">nonce</th><td>` + q.Get("nonce") + "</td>", "UTC</span>"} {
		require.Contains(t, ada.text, shown)
	}
	other := newSurfer(t)
	other.open(home + "/")
	require.NotContains(t, other.text, "Ada")

	ada.follow("Sign out")
	require.Equal(t, home+"/", ada.at.String(), "the provider sends back")
	require.Contains(t, ada.text, "<h1>Sign in</h1>")
	ada.follow("Sign in")
	require.Contains(t, ada.text, `name="password"`, "signed out at the provider, too")

	sealing := filepath.Join(dir, "signin.key")
	kept, err := os.Stat(sealing)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), kept.Mode().Perm())
	keys := body(t, issuer+"/oauth/jwks")
	first.interrupt()
	require.Zero(t, first.exitCode())
	ports.partner = newDevPorts(t).partner
	home = fmt.Sprintf("http://localhost:%d", ports.partner)
	second := dev(t, dir, ports)
	second.line(devReady)
	require.JSONEq(t, keys, body(t, issuer+"/oauth/jwks"), "the signing keys can still be opened")
	ada.open(home + "/sign-in")
	ada.signIn()
	require.Equal(t, home+"/", ada.at.String(), "the client follows the partner's port")
	require.Contains(t, ada.text, "Hello, Ada Lovelace")
	ada.open(home + "/sign-in")
	require.Contains(t, ada.text, "Hello, Ada Lovelace", "signed in already, nothing is asked")
}

// The sample partner believes no answer that it did not ask for.
func TestSamplePartnerBelievesNoForeignAnswer(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	home, issuer := fmt.Sprintf("http://localhost:%d", ports.partner), ports.url("/signin")

	refused := func(s *surfer, status int, says string) {
		t.Helper()
		require.Equal(t, status, s.status, s.text)
		require.Contains(t, s.text, says)
		require.NotContains(t, s.text, "Hello")
		s.open(home + "/")
		require.NotContains(t, s.text, "Hello")
	}
	const noAttempt = "belongs to no sign-in that began in this browser"
	mallory, ada := newSurfer(t), newSurfer(t)
	mallory.open(home + "/callback?code=guessed&state=guessed")
	refused(mallory, http.StatusBadRequest, noAttempt)
	mallory.open(home + "/callback")
	refused(mallory, http.StatusBadRequest, noAttempt)

	// What Mallory got for himself, Ada is made to open.
	mallory.open(home + "/sign-in")
	var answer string
	mallory.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/callback" {
			answer = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	mallory.submit(url.Values{"email": {"ada@example.com"}, "password": {"correct horse"}, "action": {"sign-in"}})
	require.Contains(t, answer, "code=")
	ada.open(answer)
	refused(ada, http.StatusBadRequest, noAttempt)

	// From another provider; and once refused, the attempt is over.
	mallory.client.CheckRedirect = nil
	u, err := url.Parse(answer)
	require.NoError(t, err)
	q := u.Query()
	q.Set("iss", "https://other.example")
	u.RawQuery = q.Encode()
	mallory.open(u.String())
	refused(mallory, http.StatusBadRequest, "from another provider")
	mallory.open(answer)
	refused(mallory, http.StatusBadRequest, noAttempt)

	ada.open(home + "/sign-in")
	ada.submit(url.Values{"action": {"cancel"}})
	refused(ada, http.StatusForbidden, "(access_denied)")

	// The request was changed on its way.
	for parameter, says := range map[string]string{"nonce": "its nonce is not the one that was sent",
		"code_challenge": "invalid_grant"} {
		ada := newSurfer(t)
		ada.open(home + "/sign-in")
		q := ada.at.Query()
		q.Set(parameter, strings.Repeat("x", 43))
		ada.open(issuer + "/oauth/authorize?" + q.Encode())
		ada.signIn()
		refused(ada, http.StatusBadGateway, says)
	}

	for name, c := range map[string]struct{ issuer, secret, says string }{
		"provider that is away":  {"http://localhost:1/signin", "demo-secret", "metadata"},
		"another than it says":   {fmt.Sprintf("http://127.0.0.1:%d/signin", ports.http), "demo-secret", "metadata"},
		"a secret that is wrong": {issuer, "no-secret", "invalid_client"},
	} {
		port := freePorts(t, 1)[0]
		partner := start(t, []string{"HIREGATE_CLIENT_SECRET=" + c.secret}, hiregate(t), "listen", "--addr", loopback(port),
			"--secret", "s", "--issuer", c.issuer)
		partner.line("^Listening at")
		at := fmt.Sprintf("http://localhost:%d", port)
		gateway := &system{t: t, admin: ports.admin}
		gateway.put("/oauth-clients/demo", map[string]any{"name": "Demo", "redirectUris": []string{at + "/callback"}})
		s := newSurfer(t)
		s.open(at + "/sign-in")
		if c.secret != "demo-secret" {
			s.signIn()
		}
		require.Equal(t, http.StatusBadGateway, s.status, name)
		require.Contains(t, s.text, c.says, name)
	}
}
