package caddyfile_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/stretchr/testify/require"
)

// issuers are three sites of one gateway that sign people in: below public_url, at a path of two segments, at the root
// of another host.
const issuers = `{
	admin localhost:ADMIN
	persist_config off
	auto_https off
	hiregate {
		dev
		public_url http://localhost:PORT
		database "sqlite:DIR/hiregate.db"
		documents "file:DIR/documents"
		temporal 127.0.0.1:1
	}
}
http://localhost:PORT {
	bind 127.0.0.1
	handle_path /signin/* {
		signin {
			key {env.SIGNIN_KEY}
		}
	}
	handle_path /eu/identity/* {
		signin {
			base_url http://localhost:PORT/eu/identity
			title Europe
			key {env.SIGNIN_KEY}
		}
	}
}
http://127.0.0.1:PORT {
	bind 127.0.0.1
	handle {
		signin {
			base_url http://127.0.0.1:PORT
			key {env.SIGNIN_KEY}
		}
	}
}
`

var asked = regexp.MustCompile(`action="([^"]*/sign-in)"[^<]*<input type="hidden" name="request" value="([^"]*)"`)

// Sites with different issuers work side by side in one process: each address of their metadata is served, and
// sessions and codes are good at their own alone.
func TestSitesThatSignIn(t *testing.T) {
	folder := t.TempDir()
	public, admin := freeAddress(t), freeAddress(t)
	t.Setenv("SIGNIN_KEY", strings.Repeat("k", 32))
	text := strings.NewReplacer("PORT", port(public), "ADMIN", port(admin), "DIR", folder).Replace(issuers)
	require.NoError(t, caddy.Load(adapt(t, caddyfile.Format([]byte(text))), true))
	defer func() { require.NoError(t, caddy.Stop()) }()
	made := func(what, body string) {
		t.Helper()
		answer, err := http.Post("http://localhost:"+port(admin)+"/hiregate/v1/"+what, "application/json",
			strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusCreated, answer.StatusCode)
	}
	made("users", `{"email":"ada@example.com","emailVerified":true,"name":"Ada","givenName":"Ada","familyName":"","password":"correct horse"}`)
	made("oauth-clients", `{"id":"demo","name":"Demo","secret":"demo-secret","redirectUris":["http://localhost:1/callback"],"postLogoutRedirectUris":[]}`)

	hosts := "http://localhost:" + port(public)
	all := []string{hosts + "/signin", hosts + "/eu/identity", "http://127.0.0.1:" + port(public)}
	codes := map[string]string{}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, issuer := range all {
		answer, text := got(t, client, issuer+"/.well-known/openid-configuration")
		require.Equal(t, http.StatusOK, answer.StatusCode)
		var metadata map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &metadata))
		require.Equal(t, issuer, metadata["issuer"])
		served := 0
		for name, value := range metadata {
			if address, ok := value.(string); ok && name != "issuer" && strings.HasPrefix(address, "http") {
				require.True(t, strings.HasPrefix(address, issuer+"/"), address)
				answer, _ := got(t, client, address)
				require.NotEqual(t, http.StatusNotFound, answer.StatusCode, address)
				served++
			}
		}
		require.Equal(t, 6, served)

		// Nobody is signed in here yet, whoever is at the others.
		request := url.Values{"response_type": {"code"}, "client_id": {"demo"}, "scope": {"openid"},
			"redirect_uri": {"http://localhost:1/callback"}}
		answer, page := got(t, client, issuer+"/oauth/authorize?"+request.Encode())
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Equal(t, issuer == hosts+"/eu/identity", strings.Contains(page, "Europe"))
		raw := asked.FindStringSubmatch(page)
		require.NotNil(t, raw)
		to, err := answer.Request.URL.Parse(html.UnescapeString(raw[1]))
		require.NoError(t, err)
		form := url.Values{"request": {html.UnescapeString(raw[2])}, "email": {"ada@example.com"},
			"password": {"correct horse"}, "action": {"sign-in"}}
		answer, err = client.PostForm(to.String(), form)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusSeeOther, answer.StatusCode)
		for _, cookie := range answer.Cookies() {
			cookie.Secure = false // this client, unlike a browser, keeps such a cookie from http://localhost
			jar.SetCookies(answer.Request.URL, []*http.Cookie{cookie})
		}
		back, err := answer.Location()
		require.NoError(t, err)
		require.Equal(t, issuer, back.Query().Get("iss"))
		codes[issuer] = back.Query().Get("code")
	}
	for n, issuer := range all {
		other := all[(n+1)%len(all)]
		require.Equal(t, http.StatusBadRequest, exchanged(t, other, codes[issuer]), "the code of %s at %s", issuer, other)
	}
	for _, issuer := range all {
		require.Equal(t, http.StatusOK, exchanged(t, issuer, codes[issuer]), issuer)
	}
}

func got(t *testing.T, client *http.Client, address string) (*http.Response, string) {
	t.Helper()
	answer, err := client.Get(address)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(text)
}

// exchanged is the status that a site answers a code with.
func exchanged(t *testing.T, issuer, code string) int {
	t.Helper()
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code},
		"redirect_uri": {"http://localhost:1/callback"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/openId/accessToken",
		strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("demo", "demo-secret")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}
