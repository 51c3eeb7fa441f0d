package admin_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
)

// A shell is offered what the gateway has.
func TestCompletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Export(t, "acme", "u-1")
	_, _, err := b.hiregate("candidate", "set", "acme/c-zoe", clitest.File(t, "zoe.json", []byte("{}")))
	require.NoError(t, err)
	offered := func(args ...string) []string {
		t.Helper()
		root := &cobra.Command{Use: "hiregate"}
		for _, command := range commands {
			root.AddCommand(command())
		}
		args = append([]string{"__complete", args[0], args[1], "--admin", b.address}, args[2:]...)
		out, _, err := clitest.Run(t.Context(), root, args...)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[:len(lines)-1] // the last one is for the shell
	}
	require.Equal(t, []string{"acme", "globex", "idle"}, offered("tenant", "show", ""))
	require.Equal(t, []string{"acme/"}, offered("integration", "disable", "a"))
	require.Equal(t, []string{"acme/crm", "acme/hris", "acme/own"}, offered("integration", "disable", "acme/"))
	require.Equal(t, []string{"acme/u-1"}, offered("export", "show", "acme/u"))
	require.Equal(t, []string{"acme/u-1"}, offered("export", "erase", "acme/u-2", "acme/"), "of several")
	require.Equal(t, []string{"acme/c-zoe"}, offered("candidate", "export", "acme/c"))
	require.Equal(t, []string{"acme"}, offered("export", "list", "--tenant", "ac"))
	require.Equal(t, []string{"hris"}, offered("export", "list", "--tenant", "acme", "--integration", "h"))
	require.Equal(t, []string{"crm", "hris", "own"}, offered("export", "redeliver", "acme/u-1", "--integration", ""))
	require.Empty(t, offered("export", "show", "acme/u-1", ""), "it takes one")
	require.Empty(t, offered("tenant", "show", "x"))
}

// Each flag of each command is completed by what it can be, or known to be free text, a number, or a file.
func TestFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	free := strings.Fields("text email phone file-name admin gateway api-user source updated-since erased-before since until at expires limit object uuid label name reason url user wait-seconds try-for-hours keep-days retry in-flight status attempts waiting-longer rate wait " +
		"feed id zone description given-name family-name redirect-uri post-logout-redirect-uri backchannel-logout-uri group category position title type site provider person")
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || strings.HasSuffix(f.Name, "-file") || f.Name == "output" || f.Name == "help" {
				return
			}
			complete, ok := cmd.GetFlagCompletionFunc(f.Name)
			require.True(t, ok, "%s --%s", cmd.CommandPath(), f.Name)
			for _, word := range free {
				if word == f.Name {
					return
				}
			}
			switch f.Name {
			case "tenant", "integration", "helper", "candidate", "application", "job", "step", "redelivery":
				return // asked of the gateway: see TestCompletion
			}
			offered, _ := complete(cmd, nil, "")
			require.NotEmpty(t, offered, "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	for _, command := range commands {
		visit(command())
	}
}
