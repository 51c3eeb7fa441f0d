package manageapi_test

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	_ "github.com/hiregate/hiregate/modules"
)

// TestAdminEndpoint asks a Caddy with and without a gateway, at a port and at a socket, across reloads.
func TestAdminEndpoint(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	tcp := l.Addr().String()
	require.NoError(t, l.Close())
	folder := t.TempDir()
	load := func(listen string, enforceOrigin bool, integration string) {
		t.Helper()
		config := map[string]any{"admin": map[string]any{"listen": listen, "enforce_origin": enforceOrigin,
			"config": map[string]any{"persist": false}}}
		if integration != "" {
			config["apps"] = map[string]any{"hiregate": map[string]any{
				"dev": true, "public_url": "https://gate.example.com",
				"database":  "sqlite://" + filepath.Join(folder, "hiregate.db"),
				"documents": "file://" + filepath.Join(folder, "documents"),
				"temporal":  map[string]any{"address": gatewaytest.Nowhere},
				"tenants": []any{map[string]any{"name": "acme", "secrets": []string{"acme-secret"}, "integrations": []any{
					map[string]any{"name": integration, "url": "https://hr.acme.example/" + urlPath, "secret": secretKey},
				}}},
			}}
		}
		raw, err := json.Marshal(config)
		require.NoError(t, err)
		require.NoError(t, caddy.Load(raw, true))
	}
	t.Cleanup(func() { require.NoError(t, caddy.Stop()) })
	socket := "unix/" + filepath.Join(folder, "admin.sock")

	for _, step := range []struct {
		listen        string
		enforceOrigin bool
		integration   string
	}{{tcp, false, "hris"}, {tcp, true, "crm"}, {socket, false, "crm"}, {tcp, false, ""}} {
		load(step.listen, step.enforceOrigin, step.integration)
		list := func() (string, error) {
			out, _, err := run(t, admin.Integration(), "list", "--json", "--admin", step.listen)
			return out, err
		}
		// The former server of the admin endpoint ends a moment after the next one began.
		if step.integration == "" {
			require.Eventually(t, func() bool {
				_, err := list()
				return err != nil && err.Error() == "no gateway is running here: its configuration has no global option "+
					"hiregate, or it is just starting or ending"
			}, 5*time.Second, 10*time.Millisecond)
			continue
		}
		require.Eventually(t, func() bool {
			out, err := list()
			return err == nil &&
				strings.HasPrefix(out, `{"id":"`+step.integration+`","tenant":"acme","name":"`+step.integration+`",`) &&
				strings.Contains(out, `"state":"not_configured"`) && strings.Count(out, "\n") == 1
		}, 5*time.Second, 10*time.Millisecond, "%+v", step)
	}
}
