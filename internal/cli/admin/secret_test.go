package admin_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
)

// A secret is shown this once: where it can't be written the command fails, and says how to end it or to make another.
func TestSecretsThatCantBeWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.hiregate("tenant", "set", "initech")
	require.NoError(t, err)
	read, broken, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	t.Cleanup(func() { broken.Close() })
	const id = "[0-9a-f-]{36}"
	for _, test := range []struct {
		command func() *cobra.Command
		args    string
		want    string
	}{
		{admin.APIKey, "set CI", "revoke it with `hiregate api-key remove " + id + "`, and make another"},
		{admin.APIKey, "set CI-2 --json", "revoke it with `hiregate api-key remove " + id + "`, and make another"},
		{admin.User, "set ada@example.com", "make another with `hiregate user set " + id + " --new-password`"},
		{admin.APIUser, "set initech/ada@example.com",
			"make another with `hiregate api-user set initech/ada@example.com --new-password`"},
		{admin.OAuthClient, "set payroll --redirect-uri https://payroll.example.com/cb",
			"make another with `hiregate oauth-client set payroll --new-secret`"},
		{admin.OAuthClient, "set payroll --new-secret", "make another with `hiregate oauth-client set payroll " +
			"--new-secret`, which ends the one that the application has now"},
	} {
		cmd := test.command()
		cmd.SetOut(broken)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append(strings.Fields(test.args), "--admin", b.address))
		cmd.SilenceErrors = true
		err := cmd.ExecuteContext(t.Context())
		require.Error(t, err, test.args)
		require.Regexp(t, `^it was made, but could not be written \(broken pipe\), and is not shown again: `+test.want+"$",
			err.Error(), test.args)
	}
}
