package manageapi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
)

// TestManageAPIOnASite serves the API below a path, in development mode and without.
func TestManageAPIOnASite(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, caddy.Stop()) })
	for word, status := range map[string]int{"dev": http.StatusOK, "": http.StatusUnauthorized} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := l.Addr().String()
		require.NoError(t, l.Close())
		folder := t.TempDir()
		config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(fmt.Appendf(nil, `{
			admin off
			persist_config off
			auto_https off
			hiregate {
				%s
				public_url https://gate.example.com
				database sqlite://%s/hiregate.db
				documents file://%[2]s/documents
				temporal %s
			}
		}
		http://%s {
			respond /manage "not ours"
			handle_path /manage/* {
				manage_api
			}
		}`, word, folder, gatewaytest.Nowhere, address), nil)
		require.NoError(t, err)
		for _, w := range warnings {
			require.Contains(t, w.Message, "not formatted")
		}
		require.NoError(t, caddy.Load(config, true))
		ask := func(method, path, body string, want int) string {
			r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer dev-key")
			r.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer res.Body.Close()
			raw, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, want, res.StatusCode, "%s", raw)
			return string(raw)
		}
		require.Contains(t, ask(http.MethodGet, "/manage/openapi.json", "", http.StatusOK), `"openapi":"3.1.0"`)
		ask(http.MethodGet, "/manage/v1/tenants", "", status)
		ask(http.MethodPost, "/manage/v1/tenants", "", http.StatusMethodNotAllowed)
		if word == "dev" {
			ask(http.MethodPut, "/manage/v1/tenants/initech", `{}`, http.StatusCreated)
			ask(http.MethodPut, "/manage/v1/tenants/initech/candidates/a%2Fb", `{}`, http.StatusCreated)
			require.Contains(t, ask(http.MethodGet, "/manage/v1/tenants/initech/candidates/a%2Fb", "", http.StatusOK),
				`"id":"a/b"`)
		}
	}
}
