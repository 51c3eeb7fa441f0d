package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// In a real browser, tabs of two hosts end on their own pages, by way of a sign-in host, and one sign-in is good for all
// hosts of the domain, as one sign-out is. A host that is not ours can't have the browser end the sign-in of somebody else.
func TestHostsShareASignInInABrowser(t *testing.T) {
	t.Parallel()
	a := newAlone(t, `http://localhost:PORT {
	bind 127.0.0.1
	handle_path /signin/* {
		signin {
			base_url http://localhost:PORT/signin
			key "a text of more than thirty-two characters"
		}
	}
}
http://app.gate.localhost:PORT, http://shop.gate.localhost:PORT, http://auth.gate.localhost:PORT {
	bind 127.0.0.1
	signin_gate {
		provider http://localhost:PORT/signin {
			client acme what-the-application-is-known-by
		}
		key "a text of more than thirty-two characters"
		allow email *@example.com
		cookie_domain gate.localhost auth.gate.localhost:PORT
	}
	reverse_proxy `+newPages(t)+`
}
http://theirs.gate.localhost:PORT {
	bind 127.0.0.1
	header Content-Type text/html
	respond "not ours"
}
`)
	host := func(name string) string { return fmt.Sprintf("http://%s.gate.localhost:%d", name, a.http) }
	app, shop, auth, theirs := host("app"), host("shop"), host("auth"), host("theirs")
	signIn := a.url("/signin/oauth/authorize?")
	a.addAda(auth + "/oauth2/callback")
	a.post201("/users", map[string]any{"email": "mallory@example.com", "emailVerified": true, "name": "Mallory", "password": "correct horse"})
	c := startChromium(t)
	pages := []string{app + "/deep/link?q=%2F&x=1", shop + "/second"}
	var tabs []string
	for _, page := range pages {
		var tab struct{ Handle string }
		c.call(http.MethodPost, "/window/new", map[string]any{"type": "tab"}, &tab)
		tabs = append(tabs, tab.Handle)
		c.turnTo(tab.Handle)
		c.open(page)
		c.awaitText(signIn, "Acme")
	}
	for _, n := range []int{1, 0} {
		c.turnTo(tabs[n])
		c.fill("#email", "ada@example.com")
		c.fill("#password", "correct horse")
		c.click("button[value=sign-in]")
		c.awaitText(pages[n], "for ada@example.com")
		c.awaitText(pages[n], "hello ada@example.com")
	}
	c.open(auth + "/third")
	c.awaitText(auth+"/third", "/third for ada@example.com")
	c.open(shop + "/oauth2/sign_out")
	c.awaitText(shop, "You are signed out")
	c.open(app + "/third")
	c.awaitText(signIn, "Acme")

	// Mallory begins to sign in, and has the browser come back in their place.
	mallory := newVisitor(t)
	_, page := mallory.open(auth + "/oauth2/start")
	back := mallory.submit("mallory@example.com", a.url("/signin"), page)
	require.Contains(t, back, auth+"/oauth2/callback?")
	c.open(theirs)
	c.awaitText(theirs, "not ours")
	for name, value := range mallory.cookies[strings.TrimPrefix(auth, "http://")] {
		for _, as := range []string{name, strings.Replace(name, "__Host-", "__Secure-", 1)} {
			c.evaluate(fmt.Sprintf("document.cookie = '%s=%s; path=/; secure; domain=gate.localhost'", as, value), nil)
		}
	}
	var planted string
	c.evaluate("document.cookie", &planted)
	require.Contains(t, planted, "__Secure-gate-")
	require.NotContains(t, planted, "__Host-")
	c.open(back)
	c.awaitText(signIn, "Acme")
	_, page = mallory.open(back)
	require.Contains(t, page, "for mallory@example.com", "the sign-in was good where it began")
}

// Servers that ask the gate share its sessions: one as docs/signin-gate.md configures nginx, and one that asks at the sign-in
// host and leads there, as ingress-nginx does with the annotations of that page.
func TestServersAskAtASignInHost(t *testing.T) {
	t.Parallel()
	port := freePorts(t, 1)[0]
	a := newAsked(t, fmt.Sprintf("\t\tcookie_domain gate.localhost auth.gate.localhost:%d\n", port))
	auth, app, shop := fmt.Sprintf("http://auth.gate.localhost:%d", port), fmt.Sprintf("http://app.gate.localhost:%d", port),
		fmt.Sprintf("http://shop.gate.localhost:%d", port)
	a.addAda(auth + "/oauth2/callback")
	annotations := map[string]string{}
	for line := range strings.Lines(strings.NewReplacer("https://auth.acme.example", auth, "https://$host", shop).Replace(a.blocks[3])) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		require.True(t, ok, line)
		annotations[strings.TrimPrefix(name, "nginx.ingress.kubernetes.io/")] = value
	}
	set, pass := "", ""
	for n, name := range strings.Split(annotations["auth-response-headers"], ",") {
		set += fmt.Sprintf("auth_request_set $h%d $upstream_http_%s;\n", n, strings.ToLower(strings.ReplaceAll(name, "-", "_")))
		pass += fmt.Sprintf("proxy_set_header %s $h%d;\n", name, n)
	}
	ingress := fmt.Sprintf(`
server {
	listen 127.0.0.1:%[1]d;
	server_name auth.gate.localhost;
	location / {
		proxy_pass http://127.0.0.1:4180;
		proxy_set_header Host $http_host;
		proxy_set_header X-Forwarded-Host $http_host;
		proxy_set_header X-Forwarded-Proto $scheme;
		proxy_set_header X-Forwarded-For $remote_addr;
	}
}
server {
	listen 127.0.0.1:%[1]d;
	server_name shop.gate.localhost;
	location / {
		auth_request /_auth;
		error_page 401 = @sign_in;
		proxy_pass http://127.0.0.1:3000;
		%[2]s%[3]s
	}
	location = /_auth {
		internal;
		proxy_pass %[4]s;
		proxy_pass_request_body off;
		proxy_set_header Content-Length "";
		proxy_set_header Host auth.gate.localhost:%[1]d;
	}
	location @sign_in {
		return 302 %[5]s;
	}
}
`, port, set, pass, strings.Replace(annotations["auth-url"], "auth.gate.localhost", "127.0.0.1", 1),
		strings.Replace(annotations["auth-signin"], "$escaped_request_uri", "$request_uri", 1))
	startNginx(t, port, strings.NewReplacer(append(a.moved, "443 ssl", loopback(port), "app.acme.example", "app.gate.localhost")...).
		Replace(a.blocks[1]+ingress))

	for _, other := range []string{"evilgate.localhost", "gate.localhost.evil.example", "localhost"} {
		res, page := newVisitor(t).ask(http.MethodGet, a.url("/"), nil, func(h http.Header) { h.Set("X-Forwarded-Host", other) })
		require.Equal(t, http.StatusForbidden, res.StatusCode, "%s: %s", other, page)
	}

	byNginx, byIngress := asking{t, app, a.issuer}, asking{t, shop, a.issuer}
	ada := newVisitor(t)
	at, page := ada.open(app + "/deep?x=1&y=%2F")
	require.Contains(t, at, url.QueryEscape(auth+"/oauth2/callback"))
	at, page = ada.enter(a.issuer, page)
	require.Equal(t, app+"/deep?x=1&y=%2F", at)
	require.Equal(t, "ada@example.com", byNginx.received(page).identity()[1])
	at, page = ada.open(shop + "/x")
	require.Equal(t, shop+"/x", at)
	require.Equal(t, []string{"ada@example.com", "Ada", ""}, byIngress.received(page).identity()[1:])
	res, page := ada.ask(http.MethodGet, shop+"/", nil, forge)
	require.Equal(t, http.StatusOK, res.StatusCode, page)
	require.Equal(t, "ada@example.com", byIngress.received(page).identity()[1])
	byNginx.refuses(newVisitor(t), http.StatusUnauthorized)
	at, _ = ada.open(shop + "/oauth2/sign_out?rd=/y")
	require.Equal(t, shop+"/oauth2/sign_out?rd=/y", at, "only the gate's own host has its addresses")
	at, _ = ada.open(auth + "/oauth2/sign_out?rd=" + url.QueryEscape(shop+"/y"))
	require.Contains(t, at, "prompt=login")
	res, _ = ada.ask(http.MethodPost, app+"/", nil)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)

	ada = newVisitor(t)
	at, page = ada.open(shop + "/deep/link")
	require.Contains(t, at, a.issuer+"/oauth/authorize?")
	at, page = ada.enter(a.issuer, page)
	require.Equal(t, shop+"/deep/link", at)
	require.Equal(t, "ada@example.com", byIngress.received(page).identity()[1])
}
