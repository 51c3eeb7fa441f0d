package modules

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/stretchr/testify/require"
)

// A trusted proxy that names no client may ask for many: its requests are not bounded together.
func TestWhoseRequestsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		peer, client string
		trusted      bool
		counted      string
	}{
		"a client":                      {"192.0.2.1:4711", "192.0.2.1", false, "192.0.2.1"},
		"a client behind a proxy":       {"10.0.0.1:4711", "192.0.2.1", true, "192.0.2.1"},
		"a trusted proxy":               {"10.0.0.1:4711", "10.0.0.1", true, ""},
		"a trusted proxy with IPv6":     {"[fd00::1]:4711", "fd00::1", true, ""},
		"a trusted proxy at a socket":   {"@", "@", true, ""},
		"what Caddy could not find out": {"192.0.2.1:4711", "", false, "192.0.2.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, map[string]any{
			caddyhttp.TrustedProxyVarKey: c.trusted, caddyhttp.ClientIPVarKey: c.client}))
		require.Equal(t, c.counted, countedAddress(r), name)
	}
}
