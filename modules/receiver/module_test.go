package receiver_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/webhook"
	_ "github.com/hiregate/hiregate/modules"
)

// serveCaddy runs a Caddy with the gateway of acme until the test ends, and gives its address. servers is Caddy's
// option of that name, or empty; options are lines of the global option hiregate; site are the lines of the only site.
func serveCaddy(t *testing.T, servers, options, site string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = listener.Addr().String()
	require.NoError(t, listener.Close())
	caddyfile := fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	log {
		output discard
	}
	%[4]s
	hiregate {
		dev
		public_url http://%[1]s
		database sqlite://%[2]s/hiregate.db
		documents file://%[2]s/documents
		temporal %[3]s
		%[6]s
		tenant acme {
			secret acme-secret
		}
	}
}
http://%[1]s {
	%[5]s
}`, address, t.TempDir(), gatewaytest.Nowhere, servers, site, options)
	config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddyfile), nil)
	require.NoError(t, err)
	for _, w := range warnings {
		require.Contains(t, w.Message, "not formatted")
	}
	require.NoError(t, caddy.Load(config, true))
	t.Cleanup(func() { require.NoError(t, caddy.Stop()) })
	return address
}

// In a Caddy the path may have lost its beginning when the receiver sees it; a receipt's address has it all the same.
func TestReceiptsAddressUnderHandlePath(t *testing.T) {
	address := serveCaddy(t, "", "", `handle_path /a/b/* {
		export_receiver {
			tenant_from path 0
			max_body 1KiB
		}
	}
	handle_path /query* {
		export_receiver {
			tenant_from query client
		}
	}
	handle /hooks/* {
		export_receiver {
			tenant_from path 1
		}
	}`)

	post := func(path string, body []byte) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Service-Event", webhook.EventExport)
		r.Header.Set("X-Service-UUID", strings.ReplaceAll(path, " ", ""))
		r.Header.Set("X-Service-Signature", webhook.Sign("acme-secret", body))
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer
	}
	for path, hook := range map[string]string{
		"/a/b/acme":              "/a/b/acme",
		"/a/b/acme/":             "/a/b/acme",
		"/query?client=acme":     "/query",
		"/query/x?client=acme":   "/query/x",
		"/hooks/acme":            "/hooks/acme",
		"/hooks/acme/z%C3%B6%20": "/hooks/acme/z%C3%B6%20",
	} {
		accepted := post(path, minimal)
		require.Equal(t, http.StatusAccepted, accepted.StatusCode, path)
		location := accepted.Header.Get("Location")
		require.Regexp(t, "^"+hook+"/receipts/[a-z2-7]{39}$", location)
		asked, err := http.Get("http://" + address + location)
		require.NoError(t, err)
		require.NoError(t, asked.Body.Close())
		require.Equal(t, http.StatusOK, asked.StatusCode, location)
	}

	over := append(bytes.Clone(minimal), bytes.Repeat([]byte(" "), 1024)...)
	refused := post("/a/b/acme", over)
	require.Equal(t, http.StatusRequestEntityTooLarge, refused.StatusCode, "max_body was not heeded")
	require.True(t, refused.Close)
	require.Equal(t, http.StatusOK, post("/hooks/acme", minimal).StatusCode)
	require.Equal(t, http.StatusConflict, post("/hooks/acme", over).StatusCode, "max_body is of its own receiver alone")
}
