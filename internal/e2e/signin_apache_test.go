package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// apacheConfig is of an Apache whose pages below /protected are for those alone whom mod_auth_openidc signed in. They
// show who that is.
const apacheConfig = `ServerRoot "ROOT"
DefaultRuntimeDir "ROOT"
PidFile "ROOT/apache.pid"
ErrorLog "ROOT/error.log"
LogLevel warn auth_openidc:info
Mutex "file:ROOT" default
ServerName localhost
Listen 127.0.0.1:PORT
USER
LoadModule mpm_event_module MODULES/mod_mpm_event.so
LoadModule authn_core_module MODULES/mod_authn_core.so
LoadModule authz_core_module MODULES/mod_authz_core.so
LoadModule authz_user_module MODULES/mod_authz_user.so
LoadModule mime_module MODULES/mod_mime.so
LoadModule dir_module MODULES/mod_dir.so
LoadModule include_module MODULES/mod_include.so
LoadModule auth_openidc_module MODULES/mod_auth_openidc.so

DocumentRoot "ROOT/pages"
DirectoryIndex index.html
TypesConfig /dev/null
AddType text/html .html
AddOutputFilter INCLUDES .html
<Directory "ROOT/pages">
	Options +Includes
	Require all granted
</Directory>

OIDCProviderMetadataURL ISSUER/.well-known/openid-configuration
OIDCClientID CLIENT
OIDCResponseMode MODE
OIDCCookie CLIENT_session
OIDCClientSecret SECRET
OIDCRedirectURI http://localhost:PORT/protected/redirect
OIDCCryptoPassphrase what-its-cookies-are-sealed-with
OIDCScope "openid profile email"
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
OIDCInfoHook userinfo id_token
<Location "/protected">
	AuthType openid-connect
	Require valid-user
</Location>
`

const apachePage = `<!doctype html>
<title>Protected</title>
<p id="user"><!--#echo var="REMOTE_USER" --></p>
<p id="name"><!--#echo var="OIDC_CLAIM_name" --></p>
<p id="verified"><!--#echo var="OIDC_CLAIM_email_verified" --></p>
<p id="issuer"><!--#echo var="OIDC_CLAIM_iss" --></p>
`

// startApache starts an Apache of its own, with its files in a folder of its own, at a port. It is a client that gets its
// answers in a response mode.
func startApache(t *testing.T, port int, issuer, client, secret, mode string) {
	t.Helper()
	server, err := exec.LookPath("apache2")
	if err != nil {
		server = "/usr/sbin/apache2"
	}
	const modules = "/usr/lib/apache2/modules"
	require.FileExists(t, modules+"/mod_auth_openidc.so", "Apache with mod_auth_openidc is missing: run make deps")
	root, user := t.TempDir(), ""
	if os.Geteuid() == 0 {
		user = "User www-data\nGroup www-data"
		readable(t, root)
	}
	for name, page := range map[string]string{"pages/index.html": "<p>Bye</p>", "pages/protected/index.html": apachePage} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	config := strings.NewReplacer("ROOT", root, "MODULES", modules, "USER", user, "PORT", fmt.Sprint(port), "ISSUER",
		issuer, "CLIENT", client, "SECRET", secret, "MODE", mode).Replace(apacheConfig)
	path, log := filepath.Join(root, "httpd.conf"), filepath.Join(root, "error.log")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	p := start(t, nil, server, "-f", path, "-D", "FOREGROUND")
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) // its workers with it
		<-p.ended
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			t.Logf("Apache's log:\n%s", text)
		}
	})
	require.Eventually(t, func() bool { return p.hasEnded() || !isFree(port) }, patience, 20*time.Millisecond,
		"Apache does not come up")
	require.False(t, p.hasEnded(), "Apache ended: %s", p.out.String())
}

// readable lets other users than root into the folders above a test's own.
func readable(t *testing.T, folder string) {
	t.Helper()
	for ; folder != filepath.Clean(os.TempDir()) && folder != "/"; folder = filepath.Dir(folder) {
		require.NoError(t, os.Chmod(folder, 0o755))
	}
}

// Apache's mod_auth_openidc, with what it knows from the metadata alone, and a real browser: somebody opens a
// protected page, is sent to sign in, gets it wrong once, gets the page, and signs out.
func TestClientModAuthOpenIDC(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	ports := freePorts(t, 2)
	app, posted := fmt.Sprintf("http://localhost:%d", ports[0]), fmt.Sprintf("http://localhost:%d", ports[1])
	secret := p.addClient("apache", "RS256", []string{app + "/protected/redirect"}, []string{app + "/"})
	startApache(t, ports[0], p.issuer, "apache", secret, "query")
	startApache(t, ports[1], p.issuer, "posted", p.addClient("posted", "RS256", []string{posted + "/protected/redirect"}, nil),
		"form_post")

	c := startChromium(t)
	c.open(app + "/protected/?page=1")
	c.awaitText(p.issuer+"/oauth/authorize?", "apache")
	require.Contains(t, c.address(), "code_challenge_method=S256")
	c.fill("#email", "ada@example.com")
	c.fill("#password", "wrong")
	c.click("button[value=sign-in]")
	require.NotEmpty(t, c.text("#password-error"))
	require.Equal(t, "ada@example.com", c.get(c.find("#email")+"/property/value"), "the address is kept")
	require.Empty(t, c.get(c.find("#password")+"/property/value"), "the password is not")
	c.fill("#password", "correct horse")
	c.click("button[value=sign-in]")
	c.awaitText(app+"/protected/?page=1", "ada@example.com")
	require.Equal(t, "Ada Lovelace", c.text("#name"))
	require.Equal(t, "1", c.text("#verified"))
	require.Equal(t, p.issuer, c.text("#issuer"))

	// Signed out here alone, they are signed in again by the session at the provider, and nothing is asked.
	const session = "/cookie/apache_session"
	c.call(http.MethodGet, session, nil, nil)
	c.call(http.MethodDelete, session, nil, nil)
	require.Contains(t, c.try(http.MethodGet, session, nil, nil), "no such cookie")
	c.open(app + "/protected/")
	c.awaitText(app+"/protected/", "ada@example.com")

	// An application that wants its answers as a form gets them without a press.
	c.open(posted + "/protected/?page=2")
	c.awaitText(posted+"/protected/?page=2", "ada@example.com")

	c.open(app + "/protected/redirect?logout=" + strings.ReplaceAll(app, ":", "%3A") + "%2F")
	c.awaitText(app+"/", "Bye")
	c.open(app + "/protected/")
	c.find("#password") // at the provider, too, nobody is signed in
	require.True(t, strings.HasPrefix(c.address(), p.issuer+"/oauth/authorize?"), c.address())
	c.click("button[value=cancel]")
	// This module takes an answer with iss and without a code for the beginning of a sign-in, and says so; what it was
	// sent is right.
	require.Eventually(t, func() bool { return strings.HasPrefix(c.address(), app+"/protected/redirect?") }, patience,
		20*time.Millisecond)
	require.Contains(t, c.address(), "error=access_denied")
	require.Contains(t, c.text("body"), "Invalid Request")
}
