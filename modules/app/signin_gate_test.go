package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An application in Caddy stands behind the gate, whose people sign in at the sign-in of the same gateway. Directives that
// would come before it, such as rewrites, don't.
func TestTheGateInCaddy(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	c.options = "egress allow 127.0.0.0/8"
	at := fmt.Sprintf("http://127.0.0.1:%d", s.port)
	c.handlers = fmt.Sprintf(`handle_path /manage/* {
		manage_api
	}
	handle_path /signin/* {
		signin {
			key "a text of more than thirty-two characters"
		}
	}
	handle_path /app/* {
		rewrite * /healthz
		signin_gate {
			provider %s/signin {
				client payroll of-payroll-which-is-long
			}
			key "a text of more than thirty-two characters"
			allow email *@example.com
			public /healthz
			jwt payroll
		}
		respond "the application {http.request.header.X-Auth-Request-Email}{http.request.header.X_Auth_Request_User}"
	}`, at)
	s.load(c)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cookies := map[string]string{}
	ask := func(method, address, kind, body string, headers map[string]string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest(method, address, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", kind)
		for name, value := range headers {
			r.Header[name] = []string{value}
		}
		for name, value := range cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		res, err := s.client.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		var b bytes.Buffer
		_, err = io.Copy(&b, res.Body)
		require.NoError(t, err)
		for _, one := range res.Cookies() {
			cookies[one.Name] = one.Value
		}
		return res, b.String()
	}
	make := func(path string, content map[string]any) {
		t.Helper()
		body, err := json.Marshal(content)
		require.NoError(t, err)
		res, text := ask(http.MethodPost, at+"/manage/v1"+path, "application/json", string(body),
			map[string]string{"Authorization": "Bearer dev-key"})
		require.Equal(t, http.StatusCreated, res.StatusCode, text)
	}
	make("/oauth-clients", map[string]any{"id": "payroll", "name": "Payroll", "secret": "of-payroll-which-is-long",
		"redirectUris": []string{at + "/app/oauth2/callback"}})
	make("/users", map[string]any{"email": "ada@example.com", "emailVerified": true, "name": "Ada", "password": "correct horse"})
	page := map[string]string{"Sec-Fetch-Mode": "navigate"}
	open := func(address string) (*http.Response, string) {
		t.Helper()
		for range 10 {
			res, body := ask(http.MethodGet, address, "", "", page)
			to := res.Header.Get("Location")
			if to == "" {
				return res, body
			}
			address = to
		}
		require.FailNow(t, "the redirects have no end", address)
		return nil, ""
	}

	res, body := ask(http.MethodPost, at+"/app/x", "", "", page)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.True(t, json.Valid([]byte(body)))
	res, body = ask(http.MethodGet, at+"/app/healthz", "", "", map[string]string{"X_Auth_Request_User": "mallory"})
	require.Equal(t, http.StatusOK, res.StatusCode, body)
	require.Equal(t, "the application ", body)
	res, _ = ask(http.MethodGet, at+"/app/x", "", "", map[string]string{"Sec-Fetch-Mode": "navigate", "X-Forwarded-Host": "evil.example",
		"X-Forwarded-Proto": "https"})
	require.Contains(t, res.Header.Get("Location"), url.QueryEscape(at+"/app/oauth2/callback"), "nobody but a trusted proxy says where people come from")

	_, body = open(at + "/app/deep/?q=1")
	request := regexp.MustCompile(`name="request" value="([^"]*)"`).FindStringSubmatch(body)
	require.NotNil(t, request, body)
	res, body = ask(http.MethodPost, at+"/signin/oauth/sign-in", "application/x-www-form-urlencoded", url.Values{
		"request": {html.UnescapeString(request[1])}, "email": {"ada@example.com"}, "password": {"correct horse"},
		"action": {"sign-in"}}.Encode(), nil)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, body)
	res, body = open(res.Header.Get("Location"))
	require.Equal(t, "the application ada@example.com", body)
	require.Equal(t, "/app/deep/?q=1", res.Request.URL.RequestURI())
	res, _ = ask(http.MethodGet, at+"/app/oauth2/auth", "", "", nil)
	require.Equal(t, []any{http.StatusAccepted, "ada@example.com"}, []any{res.StatusCode, res.Header.Get("X-Auth-Request-Email")})
	require.Equal(t, 2, strings.Count(res.Header.Get("X-Auth-Request-JWT"), "."), "a token of three parts")
	res, body = ask(http.MethodGet, at+"/app/oauth2/keys", "", "", nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Contains(t, body, `"kty":"OKP"`)
	res, _ = ask(http.MethodGet, at+"/app/oauth2/sign_out?rd=/app/", "", "", page)
	require.Equal(t, at+"/app/", res.Header.Get("Location"))
	res, _ = ask(http.MethodPost, at+"/app/x", "", "", nil)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}
