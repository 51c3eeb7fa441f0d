package webhook_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/hiregate/hiregate/internal/model"
)

// A receiver behind Caddy, with basic_auth and client certificates, is called with both.
func TestReceiverBehindCaddy(t *testing.T) {
	authority, ca, _ := certificate(t, "authority", nil)
	_, served, servedKey := certificate(t, "localhost", &authority)
	_, cert, key := certificate(t, "gate", &authority)
	folder := t.TempDir()
	for name, content := range map[string]string{"ca.pem": ca, "cert.pem": served, "key.pem": servedKey} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("hunter2"), bcrypt.MinCost)
	require.NoError(t, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	// A name, not an address: Caddy chooses what it asks of a client by the name that the client asks for.
	address := fmt.Sprint("localhost:", free.Addr().(*net.TCPAddr).Port)
	require.NoError(t, free.Close())
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(fmt.Appendf(nil, `{
	admin off
	auto_https off
	storage file_system %[1]s
}
https://%[2]s {
	bind 127.0.0.1
	tls %[1]s/cert.pem %[1]s/key.pem {
		client_auth {
			mode require_and_verify
			trust_pool file %[1]s/ca.pem
		}
	}
	basic_auth {
		gate %[3]s
	}
	respond 200
}`, folder, address, hash), nil)
	require.NoError(t, err)
	require.NoError(t, caddy.Load(config, true))
	t.Cleanup(func() { require.NoError(t, caddy.Stop()) })

	guard := loopback(t)
	ask := func(password string, c *model.ClientTLS) string {
		return verify(t, guard, integration("https://"+address,
			&model.Authentication{Basic: &model.BasicAuth{User: "gate", Password: password}, TLS: c}))
	}
	both := &model.ClientTLS{Certificate: cert, Key: key, CA: ca}
	require.Empty(t, ask("hunter2", both))
	require.Contains(t, ask("wrong", both), "VERIFY was answered 401: it asks for the authentication scheme Basic; give or correct it")
	require.Regexp(t, certificateRefused, ask("hunter2", &model.ClientTLS{CA: ca}))
}
