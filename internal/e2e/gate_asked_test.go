package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asking is an application behind a server that asks the gate.
type asking struct {
	t       *testing.T
	address string // of the server
	issuer  string
}

// received is a request as an application got it.
type received struct {
	Method, Address, Body string
	Header                http.Header
}

// identity returns what the application is told of the person.
func (r *received) identity() (all []string) {
	for _, name := range []string{"User", "Email", "Name", "Groups"} {
		all = append(all, r.Header.Get("X-Auth-Request-"+name))
	}
	return all
}

// newReceiving starts an application that answers with the requests it gets, one at /refused with 403.
func newReceiving(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
		}
		_ = json.NewEncoder(w).Encode(received{r.Method, r.RequestURI, string(body), r.Header})
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// asked is the gate alone, as docs/signin-gate.md has it. Only addresses are other ones.
type asked struct {
	*alone
	issuer string
	blocks []string // the configurations there, of the gate and of servers that ask it
	moved  []string // addresses in them, and those of here
}

// newAsked starts a gate that servers ask, with more options.
func newAsked(t *testing.T, options string) *asked {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "signin-gate.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Behind another server\n")
	blocks := regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$").FindAllStringSubmatch(section, -1)
	ports := freePorts(t, 3)
	a := &asked{alone: &alone{&system{t: t, dir: t.TempDir(), http: ports[0], admin: ports[1]}},
		issuer: fmt.Sprintf("http://localhost:%d/signin", ports[2])}
	for _, block := range blocks {
		a.blocks = append(a.blocks, block[1])
	}
	require.Len(t, a.blocks, 4)
	a.moved = []string{"127.0.0.1:3000", newReceiving(t), "4180", fmt.Sprint(a.http)}
	require.NoError(t, os.WriteFile(a.caddyfile(), []byte(strings.NewReplacer(append(slices.Clone(a.moved),
		"{\n\tservers", fmt.Sprintf("{\n\tadmin %s\n\tauto_https off\n\tpersist_config off\n\tservers", loopback(a.admin)),
		"sqlite:///var/lib/hiregate/gate.db", fmt.Sprintf("sqlite:%s/hiregate.db\n\t\tdev\n\t\tegress allow 127.0.0.0/8", a.dir),
		"https://gate.example.com/signin", a.issuer, "*@acme.example", "ada@example.com", "\t\tkey ", options+"\t\tkey ")...).
		Replace(a.blocks[0])+fmt.Sprintf(`
http://localhost:%d {
	bind 127.0.0.1
	handle_path /signin/* {
		signin {
			base_url %s
			key "a text of more than thirty-two characters"
		}
	}
}
`, ports[2], a.issuer)), 0o600))
	a.gateway = startCaddy(t, a.caddyfile(), append(a.env(), "ACME_CLIENT_SECRET=what-the-application-is-known-by",
		"GATE_KEY=a text of more than thirty-two characters")...)
	return a
}

// The gate says whom nginx and another Caddy let in, as configured in docs/signin-gate.md.
func TestServersAskTheGate(t *testing.T) {
	t.Parallel()
	a := newAsked(t, "")
	ports := freePorts(t, 2)
	nginx, caddy := fmt.Sprintf("http://localhost:%d", ports[0]), fmt.Sprintf("http://localhost:%d", ports[1])
	a.addAda(nginx+"/oauth2/callback", caddy+"/oauth2/callback")
	for email, groups := range map[string][]string{"bob@example.com": {"night", "staff"}, "eve@example.com": {}} {
		a.post201("/users", map[string]any{"email": email, "emailVerified": true, "name": "Zoë, " + email, "groups": groups,
			"password": "correct horse"})
	}
	startNginx(t, ports[0], strings.NewReplacer(append(slices.Clone(a.moved), "443 ssl", loopback(ports[0]), "app.acme.example",
		"localhost")...).Replace(a.blocks[1]))
	front := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(front, []byte("{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\n"+strings.NewReplacer(
		append(slices.Clone(a.moved), "app.acme.example {", caddy+" {\n\tbind 127.0.0.1")...).Replace(a.blocks[2])), 0o600))
	startCaddy(t, front, "XDG_CONFIG_HOME="+a.dir, "XDG_DATA_HOME="+a.dir)

	// Whatever host a browser asked the other server for, the gate answers, and leads back there.
	res, body := newVisitor(t).ask(http.MethodGet, a.url("/"), nil, func(h http.Header) {
		h.Set("X-Forwarded-Host", "app.acme.example")
		h.Set("X-Forwarded-Proto", "https")
	})
	require.Contains(t, res.Header.Get("Location"), url.QueryEscape("https://app.acme.example/oauth2/callback"), body)

	byNginx := asking{t, nginx, a.issuer}
	byCaddy := asking{t, caddy, a.issuer}
	bob, bobAtCaddy := byNginx.letsIn(), byCaddy.letsIn()
	byNginx.knows(bob, caddy, bobAtCaddy)
	byCaddy.knows(bobAtCaddy, nginx, bob)
}

// startNginx starts an nginx with a server that listens at a port.
func startNginx(t *testing.T, port int, server string) {
	t.Helper()
	const path = "/usr/sbin/nginx" // which is not on everybody's PATH
	found, _ := exec.LookPath("nginx")
	found = cmp.Or(found, path)
	require.FileExists(t, found, "nginx is missing: run make deps")
	root := t.TempDir()
	config := filepath.Join(root, "nginx.conf")
	temporary := ""
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("\t%s_temp_path %s/%s;\n", of, root, of)
	}
	require.NoError(t, os.WriteFile(config, []byte("daemon off;\nmaster_process off;\npid "+root+"/pid;\nevents {}\nhttp {\n"+
		"\taccess_log off;\n"+temporary+server+"}\n"), 0o600))
	p := start(t, nil, found, "-p", root, "-c", config, "-e", "stderr")
	require.Eventually(t, func() bool { return p.hasEnded() || !isFree(port) }, patience, 20*time.Millisecond)
	require.False(t, p.hasEnded(), "nginx ended:\n%s", p.out.String())
}

// forge has a client say itself who it is, and by which address it came.
func forge(h http.Header) {
	for _, name := range []string{"X-Auth-Request-User", "x-auth-request-email", "X-AUTH-REQUEST-NAME", "X-Auth-Request-Groups",
		"X_Auth_Request_User", "x_auth_request_email", "X-Auth_Request-Name", "X-Auth-Request_Groups", "X.Auth.Request.User"} {
		h[name] = []string{"mallory"}
	}
	h.Set("X-Forwarded-Host", "other.example")
	h.Set("X-Forwarded-Proto", "https")
	h.Set("X-Forwarded-Uri", "/healthz")
	h.Set("X-Original-Url", "/healthz")
	h.Set("Connection", "close, X-Auth-Request-User, x-auth-request-EMAIL") // proxies remove what stands there
}

// letsIn signs people in at the server, and returns the browser of bob, who stays.
func (a asking) letsIn() (bob *visitor) {
	a.t.Helper()
	deep := a.address + "/deep//link/?q=%2F&x&" + strings.Repeat("a&", 100) + strings.Repeat("a", 1700)
	ada := newVisitor(a.t)
	at, page := ada.open(deep)
	require.Contains(a.t, at, a.issuer+"/oauth/authorize?")
	at, page = ada.enter(a.issuer, page)
	require.Equal(a.t, deep, at)
	got := a.received(page)
	require.Equal(a.t, []string{http.MethodGet, strings.TrimPrefix(deep, a.address)}, []string{got.Method, got.Address})
	_, page = ada.open(a.address + "/oauth2/userinfo")
	var who struct{ User string }
	require.NoError(a.t, json.Unmarshal([]byte(page), &who), page)
	require.NotEmpty(a.t, who.User)
	identity := []string{who.User, "ada@example.com", "Ada", ""}
	require.Equal(a.t, identity, got.identity())

	// What a client says of itself never arrives, not even for what the person lacks.
	res, page := ada.ask(http.MethodGet, a.address+"/", nil, forge)
	require.Equal(a.t, http.StatusOK, res.StatusCode, page)
	got = a.received(page)
	require.Equal(a.t, identity, got.identity())
	for name, values := range got.Header {
		require.NotContains(a.t, values, "mallory", name)
	}

	// The application gets bodies, and refuses by itself.
	res, page = ada.ask(http.MethodPost, a.address+"/form", url.Values{"x": {"1"}})
	require.Equal(a.t, http.StatusOK, res.StatusCode, page)
	got = a.received(page)
	require.Equal(a.t, []string{http.MethodPost, "/form", "x=1"}, []string{got.Method, got.Address, got.Body})
	res, page = ada.ask(http.MethodPost, a.address+"/refused", url.Values{"x": {"2"}})
	require.Equal(a.t, http.StatusForbidden, res.StatusCode)
	require.Equal(a.t, "x=2", a.received(page).Body)

	bob = newVisitor(a.t)
	_, page = bob.open(a.address + "/")
	_, page = bob.enterAs("bob@example.com", a.issuer, page)
	require.Equal(a.t, []string{"bob@example.com", "Zo%C3%AB%2C%20bob@example.com", "night,staff"}, a.received(page).identity()[1:])

	eve := newVisitor(a.t)
	_, page = eve.open(a.address + "/")
	_, page = eve.enterAs("eve@example.com", a.issuer, page)
	require.Contains(a.t, page, "isn’t for this account")
	a.refuses(eve, http.StatusForbidden)
	a.refuses(newVisitor(a.t), http.StatusUnauthorized)

	thief := newVisitor(a.t)
	thief.cookies = map[string]map[string]string{a.host(): maps.Clone(ada.cookies[a.host()])}
	at, _ = ada.open(a.address + "/oauth2/sign_out?rd=/x")
	require.Contains(a.t, at, a.issuer+"/oauth/authorize?", "signed out, they are asked again")
	a.refuses(thief, http.StatusUnauthorized)
	return bob
}

// refuses sends a form and the request of a script, of which the application learns nothing.
func (a asking) refuses(v *visitor, status int) {
	a.t.Helper()
	script := func(h http.Header) { h.Set("Sec-Fetch-Mode", "cors") }
	for method, change := range map[string]func(http.Header){http.MethodPost: forge, http.MethodGet: script} {
		res, page := v.ask(method, a.address+"/form", url.Values{"x": {"1"}}, change)
		require.Equal(a.t, status, res.StatusCode, page)
		require.Equal(a.t, "application/problem+json", res.Header.Get("Content-Type"))
		require.NotContains(a.t, page, "x=1")
	}
}

// knows holds that the server knows a person by their session here, and not by the one at another, whatever they say of the
// address by which they came.
func (a asking) knows(v *visitor, other string, there *visitor) {
	a.t.Helper()
	res, page := v.ask(http.MethodGet, a.address+"/", nil)
	require.Equal(a.t, http.StatusOK, res.StatusCode, page)
	host := strings.TrimPrefix(other, "http://")
	moved := newVisitor(a.t)
	moved.cookies[a.host()] = there.cookies[host]
	res, page = moved.ask(http.MethodPost, a.address+"/", nil, func(h http.Header) { h.Set("X-Forwarded-Host", host) })
	require.Equal(a.t, http.StatusUnauthorized, res.StatusCode, page)
}

func (a asking) host() string { return strings.TrimPrefix(a.address, "http://") }

func (a asking) received(page string) *received {
	a.t.Helper()
	got := new(received)
	require.NoError(a.t, json.Unmarshal([]byte(page), got), page)
	require.NotEmpty(a.t, got.Method, page)
	return got
}
