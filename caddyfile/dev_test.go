package caddyfile_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"
)

// A gateway with dev.Caddyfile: what no line of it matches is answered 404. Caddy's own answer would be an empty 200,
// which a sender takes for "received".
func TestDev(t *testing.T) {
	folder := t.TempDir()
	at := freeAddress(t)
	config := strings.Replace(string(inside(t, folder, read(t, "dev.Caddyfile"))),
		"admin localhost:{$HIREGATE_ADMIN_PORT:2019}", "admin off", 1)
	require.Contains(t, config, "admin off")
	t.Setenv("HIREGATE_BIND", "127.0.0.1")
	t.Setenv("HIREGATE_HTTP_PORT", port(at))
	t.Setenv("HIREGATE_TEMPORAL_PORT", "1") // nobody listens there
	require.NoError(t, os.Mkdir(filepath.Join(folder, "data"), 0o700))
	require.NoError(t, caddy.Load(adapt(t, []byte(config)), true))
	defer func() { require.NoError(t, caddy.Stop()) }()

	for _, one := range []struct {
		method, host, path string
		status             int
	}{
		{http.MethodGet, "localhost", "/metrics", http.StatusOK},
		{http.MethodGet, "localhost", "/healthz", http.StatusOK},
		{http.MethodPost, "localhost", "/hooks/acme", http.StatusUnauthorized},
		{http.MethodPost, "localhost", "/hooks?client=globex", http.StatusUnauthorized},
		{http.MethodPost, "localhost", "/hooks/nobody", http.StatusNotFound},
		{http.MethodGet, "localhost", "/documents/nothing", http.StatusNotFound},
		{http.MethodGet, "localhost", "/manage/v1/tenants", http.StatusUnauthorized},
		{http.MethodGet, "localhost", "/signin/.well-known/openid-configuration", http.StatusOK},
		{http.MethodGet, "localhost", "/signin/oauth/authorize", http.StatusBadRequest},
		{http.MethodGet, "localhost", "/signin/", http.StatusNotFound},
		{http.MethodGet, "localhost", "/signin", http.StatusNotFound}, // led there
		{http.MethodGet, "localhost", "/applyx", http.StatusNotFound},
		{http.MethodGet, "localhost", "/oauth/authorize", http.StatusNotFound},
		{http.MethodPost, "localhost", "/", http.StatusNotFound},
		{http.MethodPost, "localhost", "/hook/acme", http.StatusNotFound},
		{http.MethodPost, "localhost", "/documents", http.StatusNotFound},
		{http.MethodPost, "gate.example.com", "/hooks/acme", http.StatusNotFound},
	} {
		r, err := http.NewRequestWithContext(t.Context(), one.method, "http://"+at+one.path, strings.NewReader("{}"))
		require.NoError(t, err)
		require.Equal(t, one.status, sendAs(t, one.host, r).StatusCode, "%s %s%s", one.method, one.host, one.path)
	}
	for _, path := range []string{"/apply", "/manage", "/signin"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+path, nil)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html")
		page := sendAs(t, "localhost", r)
		require.Equal(t, http.StatusOK, page.StatusCode, path)
		require.Equal(t, path+"/", page.Request.URL.Path)
	}
	for hook, secret := range map[string]string{"/hooks/acme": "acme-signing-secret", "/hooks?client=globex": "globex-signing-secret"} {
		accepted := sendAs(t, "localhost", signed(t, http.MethodPost, at, hook, secret))
		require.Equal(t, http.StatusAccepted, accepted.StatusCode, hook)
		receipt := accepted.Header.Get("Location")
		require.Equal(t, http.StatusOK, sendAs(t, "localhost", signed(t, http.MethodGet, at, receipt, "")).StatusCode,
			receipt)
	}
}

// sendAs sends a request under a host name.
func sendAs(t *testing.T, host string, r *http.Request) *http.Response {
	t.Helper()
	r.Host = host + ":" + r.URL.Port()
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer
}
