package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever asks for help is shown our commands, and none that begins with caddy. Each asks in a process of its own,
// since Caddy takes the commands once.
func TestHelpShowsOurExample(t *testing.T) {
	t.Parallel()
	const variable = "HIREGATE_TEST_HELP"
	if asked, ok := os.LookupEnv(variable); ok {
		os.Args = append([]string{"hiregate"}, strings.Fields(asked)...)
		main()
		return
	}
	for _, asked := range []string{"", "help", "--help", "-h"} {
		again := exec.Command(os.Args[0], "-test.run=^TestHelpShowsOurExample$")
		again.Env = append(os.Environ(), variable+"="+asked)
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
		require.True(t, strings.HasPrefix(string(out),
			description+"\n\nUsage:\n  hiregate [command]\n\nExamples:\n"+example+"\n\n"+groups[0].title+"\n"),
			"%q: %s", asked, out)
		require.NotContains(t, string(out), "$ caddy")
		for _, command := range foreign {
			require.NotContains(t, string(out), "  "+command)
		}
	}
}

// What Caddy would replace the binary by is no hiregate.
func TestNoCommandReplacesTheBinary(t *testing.T) {
	t.Parallel()
	const variable = "HIREGATE_TEST_FOREIGN"
	if asked, ok := os.LookupEnv(variable); ok {
		os.Args = []string{"hiregate", asked, "github.com/caddyserver/nginx-adapter"}
		main()
		return
	}
	for _, asked := range foreign {
		again := exec.Command(os.Args[0], "-test.run=^TestNoCommandReplacesTheBinary$")
		again.Env = append(os.Environ(), variable+"="+asked)
		out, err := again.CombinedOutput()
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, string(out))
		require.Equal(t, 2, ended.ExitCode())
		require.Equal(t, "Error: "+refuseForeign([]string{"hiregate", asked}).Error()+"\n", string(out))
	}
	require.NoError(t, refuseForeign([]string{"hiregate"}))
	require.NoError(t, refuseForeign([]string{"hiregate", "run", "upgrade"}))
}
