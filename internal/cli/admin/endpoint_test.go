package admin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// The environment or flags say which gateway is asked: at the admin endpoint of this machine, or by the management API of
// another one.
func TestWhichGatewayIsAsked(t *testing.T) {
	b := setup(t)
	b.Export(t, "acme", "u-1")
	keyed := "http://" + b.serve("/manage", manageapi.NewKeyed(b.current, b.Log)) + "/manage"
	key, _, err := b.hiregate("api-key", "set", "k-1", "--tenant", "acme", "--role", "viewer")
	require.NoError(t, err)
	key = strings.TrimSpace(key)
	list := func(args ...string) (string, error) {
		out, _, err := clitest.Run(t.Context(), admin.Export(), append([]string{"list", "--tenant", "acme"}, args...)...)
		return out, err
	}
	t.Setenv(admin.AddressVariable, b.address)
	out, err := list()
	require.NoError(t, err)
	require.Contains(t, out, "acme/u-1")
	t.Setenv(admin.GatewayVariable, keyed)
	t.Setenv(admin.KeyVariable, "")
	_, err = list()
	require.ErrorContains(t, err, "wants an API key: put one into the environment variable HIREGATE_API_KEY")
	t.Setenv(admin.KeyVariable, key)
	out, err = list()
	require.NoError(t, err)
	require.Contains(t, out, "acme/u-1")
	_, _, err = clitest.Run(t.Context(), admin.Integration(), "disable", "acme/hris")
	require.ErrorContains(t, err, "role", "the key's role counts")
	t.Setenv(admin.KeyVariable, "hgk_wrong")
	_, err = list()
	require.ErrorContains(t, err, "send an API key that is good")
	out, err = list("--api-key-file", clitest.File(t, "key", []byte(key+"\n")))
	require.NoError(t, err)
	require.Contains(t, out, "acme/u-1")

	out, err = list("--admin", b.address)
	require.NoError(t, err, "a flag counts more than the environment")
	require.Contains(t, out, "acme/u-1")
	for want, args := range map[string][]string{
		"name two gateways":                     {"--gateway", keyed, "--admin", b.address},
		"would show the API key to the network": {"--gateway", "http://gate.example.com/manage"},
		"is not the address of a management":    {"--gateway", "gate.example.com"},
		"is not the management API":             {"--gateway", strings.TrimSuffix(keyed, "/manage")},
		"it speaks http, not https":             {"--gateway", strings.Replace(keyed, "http://", "https://", 1)},
	} {
		_, err := list(args...)
		require.ErrorContains(t, err, want)
	}
	t.Setenv(admin.GatewayVariable, "")
	_, err = list("--api-key-file", "key")
	require.ErrorContains(t, err, "name its management API with --gateway")
}
