package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
)

func TestTemporalSecurity(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	secured := func(connection Temporal) (gateway.Security, error) {
		a := app()
		connection.Address = "temporal.internal:7233"
		a.Temporal = connection
		_, err := build(a)
		return a.security, err
	}
	s, err := secured(Temporal{})
	require.NoError(t, err)
	require.Equal(t, gateway.Security{}, s)
	config, err := s.TLSConfig()
	require.NoError(t, err)
	require.Nil(t, config, "nobody asked for encryption")

	for name, connection := range map[string]Temporal{
		"tls": {TLS: &gateway.TLS{ServerName: "cluster.internal"}}, "api_key": {APIKey: "hunter2"},
		"both": {TLS: &gateway.TLS{ServerName: "cluster.internal"}, APIKey: "hunter2"},
	} {
		s, err := secured(connection)
		require.NoError(t, err, name)
		config, err := s.TLSConfig()
		require.NoError(t, err, name)
		require.NotNil(t, config, name)
		require.False(t, config.InsecureSkipVerify)
		if connection.TLS != nil {
			require.Equal(t, "cluster.internal", config.ServerName)
		}
		require.Equal(t, connection.APIKey, s.APIKey.Reveal())
	}
	for want, files := range map[string]gateway.TLS{
		"there is no certificate in ":    {CA: empty},
		"temporal: ca: open ":            {CA: empty + ".away"},
		"temporal: client_auth: open ":   {Certificate: empty + ".away", Key: empty},
		"temporal: client_auth: tls: fa": {Certificate: empty, Key: empty},
	} {
		_, err := secured(Temporal{TLS: &files})
		require.ErrorContains(t, err, want)
	}
}
