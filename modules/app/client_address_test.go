package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Forged values of X-Forwarded-For are no way around the delays of sign-in and the Apply API, also where
// trusted_proxies stands without trusted_proxies_strict. The test is the proxy: it appends the address of its client
// to what that sent.
func TestForgedAddressesAreThrottled(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	c.servers = "trusted_proxies static 127.0.0.1/32 10.0.0.0/8"
	c.handlers = `handle_path /manage/* {
		manage_api
	}
	handle_path /signin/* {
		signin {
			key "a text of more than thirty-two characters"
		}
	}
	handle_path /apply/* {
		apply_api
	}`
	s.load(c)
	ask := func(path, kind, body string, headers map[string]string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path),
			strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", kind)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		res, err := s.client.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	const callback = "https://app.example.com/callback"
	require.Equal(t, http.StatusCreated, ask("/manage/v1/oauth-clients", "application/json",
		`{"id":"app","name":"App","redirectUris":["`+callback+`"]}`,
		map[string]string{"Authorization": "Bearer dev-key"}))
	asked := url.Values{"response_type": {"code"}, "scope": {"openid"}, "client_id": {"app"}, "redirect_uri": {callback}}
	signIn := url.Values{"request": {asked.Encode()}, "action": {"sign-in"}, "email": {"ada@example.com"},
		"password": {"a guess"}}

	for _, door := range []struct {
		path, kind, body string
		wrong            int
	}{
		{"/apply/v2/authentication", "application/json", `{"userName":"partner@example.com","password":"a guess"}`,
			http.StatusUnauthorized},
		{"/signin/oauth/sign-in", "application/x-www-form-urlencoded", signIn.Encode(), http.StatusForbidden},
	} {
		from := func(client, forged string) int {
			return ask(door.path, door.kind, door.body, map[string]string{"X-Forwarded-For": forged + ", " + client +
				", 10.1.2.3"})
		}
		throttled := false
		for n := 0; n < 12 && !throttled; n++ { // a slow machine may wait some of the shorter delays out
			status := from("203.0.113.5", fmt.Sprintf("198.51.100.%d", n))
			throttled = status == http.StatusTooManyRequests
			require.True(t, throttled || status == door.wrong, "%s: %d", door.path, status)
		}
		require.True(t, throttled, "%s: forged addresses give fresh places", door.path)
		require.Equal(t, door.wrong, from("203.0.113.6", "198.51.100.1"),
			"%s: another client behind the proxy is slowed down", door.path)
	}
}
