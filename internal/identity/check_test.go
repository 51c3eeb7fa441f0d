package identity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
)

func TestSecret(t *testing.T) {
	t.Parallel()
	secret, hash := identity.NewSecret()
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, secret)
	require.Equal(t, hash, identity.HashSecret(secret))
	other, _ := identity.NewSecret()
	require.NotEqual(t, secret, other)
}

func TestFold(t *testing.T) {
	t.Parallel()
	require.Equal(t, identity.Fold("ADA@example.com"), identity.Fold(" ada@EXAMPLE.com "))
	require.Equal(t, identity.Fold("STRASSE@example.com"), identity.Fold("straße@example.com"))
	require.NotEqual(t, identity.Fold("ada@example.com"), identity.Fold("adah@example.com"))
	for _, domain := range []string{"münchen.example", "MÜNCHEN.example", "xn--mnchen-3ya.example",
		"XN--MNCHEN-3YA.example", "mu\u0308nchen.example"} {
		require.Equal(t, "ada@münchen.example", identity.Fold("Ada@"+domain))
	}
	require.Equal(t, identity.Fold("ceo@strasse.example"), identity.Fold("ceo@xn--strae-oqa.example"),
		"it looks like the other")
	for email, want := range map[string]string{"ada@EXA_mple.com": "ada@exa_mple.com",
		"ada@[192.0.2.1]": "ada@[192.0.2.1]", "ada@xn--": "ada@xn--", "Ada": "ada", "": "", "@": "@",
		"a@b@C.example": "a@b@c.example"} {
		require.Equal(t, want, identity.Fold(email))
	}
	for _, long := range []string{"-3ya", ""} { // longer than a domain may be: it is left as it is, and soon
		long = "ada@xn--" + strings.Repeat("a", 1<<18) + long
		require.Equal(t, long, identity.Fold(long))
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	good := identity.User{Email: "ada@example.com", Name: "Ada Lovelace"}
	require.NoError(t, good.Validate())
	for _, email := range []string{"", "ada", "Ada <ada@example.com>", "ada@example.com, bob@example.com", "ada@",
		"ada@example.com\n", strings.Repeat("a", 255) + "@example.com"} {
		u := good
		u.Email = email
		require.ErrorContains(t, u.Validate(), "email", "%q", email)
	}
	for _, name := range []string{"a\nb", "\xff", "\x00", strings.Repeat("x", 256)} {
		u := good
		u.FamilyName = name
		require.ErrorContains(t, u.Validate(), "familyName", "%q", name)
	}
}

func TestTidy(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Ada Lovelace": "Ada Lovelace", " Ada\r\nLovelace\x00 ": "Ada Lovelace",
		"": "", "\t": "", "\xffAda": "\uFFFDAda",
		strings.Repeat("ä", 300): strings.Repeat("ä", 255), strings.Repeat("ab ",
			100): strings.TrimSpace(strings.Repeat("ab ", 85))} {
		u := identity.User{Email: "ada@example.com", Name: identity.Tidy(name)}
		require.Equal(t, want, u.Name)
		require.NoError(t, u.Validate())
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	good := identity.Client{ID: "app-1", Name: "App", Algorithm: identity.RS256,
		RedirectURIs: []string{"https://app.example.com/cb?x=1"}}
	require.NoError(t, good.Validate())
	for why, spoil := range map[string]func(*identity.Client){
		"client id":     func(c *identity.Client) { c.ID = "a b" },
		"only . or ..":  func(c *identity.Client) { c.ID = ".." },
		"name":          func(c *identity.Client) { c.Name = "" },
		"algorithm":     func(c *identity.Client) { c.Algorithm = "none" },
		"redirectUris":  func(c *identity.Client) { c.RedirectURIs = nil },
		"too many":      func(c *identity.Client) { c.LogoutURIs = make([]string, 51) },
		"not encrypted": func(c *identity.Client) { c.LogoutURIs = []string{"http://app.example.com"} },
	} {
		c := good
		spoil(&c)
		require.ErrorContains(t, c.Validate(), why)
	}
}

func TestRedirectURI(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://app.example.com/callback", "https://app.example.com:8443/cb?a=b&c=%20",
		"http://localhost:8090/callback", "http://app.localhost:8090/callback", "http://127.0.0.1/cb", "http://[::1]:3000/",
		"https://app.example.com./cb",
		"https://app.example.com:65535/cb?encoder=x&q=*"} {
		require.NoError(t, identity.ValidateRedirectURI(good), good)
	}
	for _, bad := range []string{
		"", "/callback", "app.example.com", "javascript:alert(1)", "data:text/html,x", "myapp:/cb", "https:///cb",
		"https://", "http://app.example.com/cb",
		"http://localhost.example.com/cb", "http://notlocalhost/cb", "http://.localhost/cb", "https://app.example.com/cb#x", "https://app.example.com/cb#",
		"https://user@app.example.com/", "https://app.example.com/a b",
		"https://app.example.com\\@evil.example/", "https://app.example.com/\r\nX: y", "https://app.example.com/ö",
		"https://a/" + strings.Repeat("x", 2048), "//app.example.com/cb",
		"https://:443/cb", "https://app.example.com:0/cb", "https://app.example.com:65536/cb", "https://*/cb",
		"https://*.example.com/cb", "https://app.example.com/*", "https://./", "https://a..example/",
		"https://.example/", "https://app.example.com/cb?code=1", "https://app.example.com/cb?x=1&state=s",
		"https://app.example.com/cb?iss", "https://app.example.com/cb?%65rror=x",
	} {
		require.Error(t, identity.ValidateRedirectURI(bad), bad)
	}
}
