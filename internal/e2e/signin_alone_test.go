package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// alone is a gateway that has a database, and neither documents nor Temporal.
type alone struct{ *system }

// newAlone starts a gateway with sites. PORT in them stands for its port.
func newAlone(t *testing.T, sites string) *alone {
	t.Helper()
	ports := freePorts(t, 2)
	a := &alone{&system{t: t, dir: t.TempDir(), http: ports[0], admin: ports[1]}}
	a.write(sites)
	a.gateway = startCaddy(t, a.caddyfile(), a.env()...)
	return a
}

// startCaddy starts a gateway, or no more than a Caddy, and waits until it serves a Caddyfile.
func startCaddy(t *testing.T, caddyfile string, env ...string) *process {
	t.Helper()
	p := start(t, env, hiregate(t), "run", "--config", caddyfile, "--adapter", "caddyfile")
	p.line("serving initial configuration")
	return p
}

func (a *alone) env() []string {
	return []string{"XDG_CONFIG_HOME=" + a.dir, "XDG_DATA_HOME=" + a.dir, "HIREGATE_ADMIN=" + loopback(a.admin)}
}
func (a *alone) url(path string) string { return fmt.Sprintf("http://localhost:%d%s", a.http, path) }

func (a *alone) write(sites string) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile(a.caddyfile(), fmt.Appendf(nil, `{
	admin %s
	auto_https off
	persist_config off
	hiregate {
		dev
		database sqlite:%s/hiregate.db
		egress allow 127.0.0.0/8
	}
}
%s`, loopback(a.admin), a.dir, strings.ReplaceAll(sites, "PORT", fmt.Sprint(a.http))), 0o600))
}

func (a *alone) run(args ...string) (out string, code int) {
	a.t.Helper()
	return run(a.t, a.env(), hiregate(a.t), args...)
}

// addAda adds the application acme with redirect URIs, and ada@example.com, whose password is correct horse.
func (a *alone) addAda(redirects ...string) {
	a.t.Helper()
	a.post201("/oauth-clients", map[string]any{"id": "acme", "name": "Acme", "secret": "what-the-application-is-known-by",
		"redirectUris": redirects})
	a.post201("/users", map[string]any{"email": "ada@example.com", "emailVerified": true, "name": "Ada", "password": "correct horse"})
}

// A gateway that signs people in, and does nothing else, needs a database alone: neither documents nor Temporal.
func TestSignInAlone(t *testing.T) {
	t.Parallel()
	const site = `http://localhost:PORT {
	bind 127.0.0.1
	log
	handle_path /signin/* {
		signin {
			base_url http://localhost:PORT/signin
			key "a text of more than thirty-two characters"
		}
	}
	handle /healthz {
		healthz
	}
	handle {
		signin_gate {
			provider http://localhost:PORT/signin {
				client acme what-the-application-is-known-by
			}
			key "a text of more than thirty-two characters"
			allow any
		}
		respond "the application"
	}
}
`
	a := newAlone(t, site)
	var health struct {
		Status string
		Checks map[string]struct{ OK bool }
	}
	require.NoError(t, json.Unmarshal([]byte(a.get("/healthz")), &health))
	require.Equal(t, "ok", health.Status)
	require.Len(t, health.Checks, 1)
	out, code := a.run("oauth-client", "set", "acme", "--name", "Acme", "--redirect-uri", a.url("/oauth2/callback"))
	require.Zero(t, code, out)
	require.Contains(t, a.get("/deep"), `name="password"`, "a page leads to sign-in")
	for _, args := range [][]string{{"status"}, {"healthcheck", "--url", a.url("/healthz")}, {"tenant", "list"}, {"validate", "--config", a.caddyfile()}} {
		out, code := a.run(args...)
		require.Zero(t, code, "%s: %s", args, out)
	}
	require.NotContains(t, a.gateway.out.String(), "emporal")
	res, err := http.Get(a.url("/signin/recovery?ticket=what-nobody-may-see"))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	a.get("/healthz?after")
	a.gateway.line(`/healthz\?after`)
	require.NotContains(t, a.gateway.out.String(), "what-nobody-may-see")

	a.write(site + ":0 {\n\tbind 127.0.0.1\n\tmanage_api\n}\n")
	out, code = a.run("validate", "--config", a.caddyfile())
	require.NotZero(t, code)
	require.Contains(t, out, "manage_api is not for a gateway that signs people in, and does nothing else: add `public_url")
	require.Contains(t, out, "Caddyfile:3")
}

// get shows a page to a browser.
func (a *alone) get(path string) string {
	a.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(a.t, err)
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url(path), nil)
	require.NoError(a.t, err)
	r.Header.Set("Accept", "text/html")
	res, err := (&http.Client{Jar: jar}).Do(r)
	require.NoError(a.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(a.t, err)
	require.Equal(a.t, http.StatusOK, res.StatusCode, string(body))
	return string(body)
}
