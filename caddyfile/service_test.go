package caddyfile_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// A gateway with service.Caddyfile and the variables of docker-compose.yml, on PostgreSQL: the management API asks for
// a key, documents are served, nothing else is, and the log holds neither keys nor the addresses of documents, nor who
// was asked about.
func TestService(t *testing.T) {
	folder := t.TempDir()
	public, own, admin := freeAddress(t), freeAddress(t), freeAddress(t)
	log := filepath.Join(folder, "log")
	config := string(inside(t, folder, read(t, "service.Caddyfile")))
	t.Setenv("HIREGATE_PUBLIC_URL", "https://gate.example.com")
	t.Setenv("HIREGATE_DATABASE", storetest.Postgres(t))
	t.Setenv("HIREGATE_OWN_BIND", "127.0.0.1")
	t.Setenv("HIREGATE_TEMPORAL", "127.0.0.1:1") // nobody listens there
	t.Setenv("HIREGATE_SERVICE_NAME", "Recruiting")
	for old, moved := range map[string]string{
		"\tshutdown_delay 1s\n": "\tshutdown_delay 1s\n\tadmin " + admin + "\n\tpersist_config off\n",
		"\tlog {\n":             "\tlog {\n\t\toutput file " + log + "\n",
		"\n{$HIREGATE_PUBLIC_URL:https://gate.example.com} {": "\nhttp://gate.example.com:" + port(public) + " {",
		"\nhttp://, https:// {":                               "\nhttp://:" + port(public) + " {",
		"http://:9180 {":                                      "http://:" + port(own) + " {",
	} {
		require.Equal(t, 1, strings.Count(config, old), old)
		config = strings.Replace(config, old, moved, 1)
	}
	config = strings.ReplaceAll(config, "shared/0.0.0.0", "shared/127.0.0.1")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "data"), 0o700))
	require.NoError(t, caddy.Load(adapt(t, []byte(config)), true))
	defer func() { require.NoError(t, caddy.Stop()) }()

	const token, key, email = "c2VjcmV0LXRva2VuLXNlY3JldC10b2tlbi1zZWNyZXQ", "hg_no-key-of-ours", "ada@example.com"
	const candidate, cursor, document = "c-zoe", "Yy16b2U", "Resume%20of%20Zoe"
	const gate, tenant = "gate.example.com", "/v1/tenants/initech"
	for _, one := range []struct {
		address, host, path string
		status              int
	}{
		{public, gate, "/manage/v1/tenants/initech/exports", http.StatusUnauthorized},
		{public, gate, "/manage/v1/tenants", http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/candidates/" + candidate, http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/candidates/" + candidate + "/exports?limit=1", http.StatusMethodNotAllowed},
		{public, gate, "/manage" + tenant + "/candidates?email=" + email, http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/candidates?limit=1&cursor=" + cursor, http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/job-applications?candidate=" + candidate, http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/job-applications/a-1/documents?description=" + document,
			http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/api-users?userName=" + email, http.StatusUnauthorized},
		{public, gate, "/manage" + tenant + "/exports?candidate=" + candidate, http.StatusUnauthorized},
		{public, gate, "/documents/" + token, http.StatusNotFound},
		{public, gate, "/signin/.well-known/openid-configuration", http.StatusOK},
		{public, gate, "/signin/oauth/authorize?login_hint=" + email, http.StatusBadRequest},
		{public, gate, "/oauth/jwks", http.StatusNotFound},
		{public, gate, "/", http.StatusNotFound},
		{public, gate, "/hooks/initech", http.StatusNotFound},
		{public, gate, "/metrics", http.StatusNotFound},
		{public, gate, "/healthz", http.StatusNotFound},
		{public, "other.example.com", "/manage/v1/tenants", http.StatusNotFound},
		{own, "localhost", "/metrics", http.StatusOK},
		{own, "localhost", "/healthz", http.StatusOK},
		{own, "localhost", "/manage/v1/tenants", http.StatusNotFound},
		{admin, "127.0.0.1", "/hiregate" + tenant + "/exports?candidate=" + candidate, http.StatusNotFound},
		{admin, "127.0.0.1", "/hiregate" + tenant + "/candidates/" + candidate, http.StatusNotFound},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+one.address+one.path, nil)
		require.NoError(t, err)
		r.Host = one.host + ":" + port(one.address)
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, one.status, answer.StatusCode, "%s%s", one.host, one.path)
	}

	// A person finds a page where a program finds nothing, or an API.
	for path, want := range map[string]struct {
		status int
		title  string
	}{
		"/":          {http.StatusOK, "A gateway for recruiting"},
		"/elsewhere": {http.StatusNotFound, "A gateway for recruiting"},
		"/signin/":   {http.StatusOK, "Sign-in"},
		"/apply/":    {http.StatusOK, "The Apply API"},
		"/manage/":   {http.StatusOK, "The management API"},
		"/signin":    {http.StatusOK, "Sign-in"},
		"/apply":     {http.StatusOK, "The Apply API"},
		"/manage":    {http.StatusOK, "The management API"},
	} {
		for _, accept := range []string{"text/html,*/*;q=0.8", "*/*"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+public+path, nil)
			require.NoError(t, err)
			r.Host = gate + ":" + port(public)
			r.Header.Set("Accept", accept)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			if accept == "*/*" {
				require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
				require.NotContains(t, string(body), "<html", path)
				continue
			}
			require.Equal(t, want.status, answer.StatusCode, path)
			require.Contains(t, string(body), "<h1>"+want.title+"</h1>", path)
			require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
		}
	}

	require.NoError(t, caddy.Stop())
	logged := string(read(t, log))
	require.Contains(t, logged, `"uri":"/manage/v1/tenants"`)
	require.Contains(t, logged, `"uri":"/documents/-"`)
	require.Contains(t, logged, `"uri":"/signin/oauth/authorize?-"`)
	require.Contains(t, logged, `"uri":"/manage/v1/tenants/initech/candidates?-"`)
	require.Contains(t, logged, `"uri":"/hiregate/v1/tenants/initech/exports?-"`)
	require.Contains(t, logged, `"uri":"/hiregate/v1/tenants/initech/candidates/-"`)
	for _, secret := range []string{token, key, email, candidate, cursor, document} {
		require.NotContains(t, logged, secret)
	}
}
