package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever asks for help is shown our commands, and none that begins with caddy.
func TestHelpShowsOurExample(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"", "help", "--help", "-h"} {
		out, err := hiregate(strings.Fields(asked)...).CombinedOutput()
		require.NoError(t, err, string(out))
		require.True(t, strings.HasPrefix(string(out),
			description+"\n\nUsage:\n  hiregate [command]\n\nExamples:\n"+example+"\n\n"+groups[0].title+"\n"),
			"%q: %s", asked, out)
		require.NotContains(t, string(out), "$ caddy")
		require.Contains(t, string(out), "\n"+exits, "%q ends with our documentation", asked)
		ours, caddys, found := strings.Cut(string(out), "\n"+caddyTitle+"\n")
		require.True(t, found)
		require.Contains(t, ours, "\n  status ")
		require.Contains(t, caddys, "\n  file-server ")
		require.NotContains(t, string(out), "\n  "+overview.Name()+" ")
		require.NotContains(t, string(out), "Full documentation is available at")
		for _, command := range foreign {
			require.NotContains(t, string(out), "  "+command)
		}
	}
}

// What Caddy would replace the binary by is no hiregate.
func TestNoCommandReplacesTheBinary(t *testing.T) {
	t.Parallel()
	for _, asked := range foreign {
		out, err := hiregate(asked, "github.com/caddyserver/nginx-adapter").CombinedOutput()
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, string(out))
		require.Equal(t, 2, ended.ExitCode())
		require.Equal(t, "Error: "+refuseForeign([]string{"hiregate", asked}).Error()+"\n", string(out))
	}
	require.NoError(t, refuseForeign([]string{"hiregate"}))
	require.NoError(t, refuseForeign([]string{"hiregate", "run", "upgrade"}))
}

// A command line that is wrong exits with 2, what failed with 1.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	const nowhere = "--admin 127.0.0.1:1"
	for asked, want := range map[string]struct {
		code int
		said string
	}{
		"exprt":                         {2, `hiregate has no command "exprt": did you mean export?`},
		"help exprt":                    {2, "did you mean export?"},
		"export lst":                    {2, "did you mean list?"},
		"export list --outcom failed":   {2, "did you mean --outcome?"},
		"export list --limit many":      {2, "`hiregate export list --help` lists the flags"},
		"export list --since yesterday": {2, "--since: yesterday is no time"},
		"export list --gateway https://a --admin :1": {2, "--gateway and --admin name two gateways"},
		"export show":           {2, "export show takes one export"},
		"export show 6f1c":      {2, "8 characters"},
		"integration show hris": {2, "TENANT/NAME"},
		"integration show globex/hris --tenant acme": {2, "name two tenants"},
		"tenant list more":                           {2, "takes no argument"},
		"tenant set acme --secret-file /nowhere":     {1, "no such file"},
		"tenant list " + nowhere:                     {1, "no gateway runs at"},
		"status " + nowhere:                          {1, "no gateway runs at"},
		"status more":                                {2, "status takes no argument"},
		"send":                                       {2, "send takes"},
		"send localhost:8080/hooks/acme":             {2, "did you mean http://localhost"},
		"listen --fail-rate 7":                       {2, "--fail-rate"},
		"apply --job NURSE-1":                        {2, "--url"},
		"dev --http 0":                               {2, "--http"},
		"dev now":                                    {2, "dev takes no arguments"},
		"healthcheck a b":                            {2, "healthcheck takes one address"},
		"healthcheck http://127.0.0.1:1/healthz":     {1, "nothing listens at"},
		"check receiver --lst":                       {2, "did you mean --list?"},
		"check receiver http://127.0.0.1 --secret -": {3, "the file of a secret, -, is empty"},
		"signature explain --boddy":                  {2, "did you mean --body?"},
		"erase key --bogus":                          {2, "`hiregate erase key --help` lists the flags"},
		"validate --confg Caddyfile":                 {2, "did you mean --config?"},
		"validate other.Caddyfile":                   {2, "such as: hiregate validate --config other.Caddyfile"},
		"run":                                        {2, "there is no Caddyfile in this folder"},
	} {
		out, err := hiregate(strings.Fields(asked)...).CombinedOutput()
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, "%s: %s", asked, out)
		require.Equal(t, want.code, ended.ExitCode(), "%s: %s", asked, out)
		require.Contains(t, string(out), want.said, asked)
		require.Equal(t, 1, strings.Count(string(out), "Error:"), "%s: %s", asked, out)
	}
}

// Each command that the help lists is one.
func TestListedCommandsAreKnown(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		out, err := hiregate(args...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	_, listed, found := strings.Cut(run("help"), groups[0].title)
	require.True(t, found)
	listed, _, _ = strings.Cut(listed, "\nUse \"")
	for line := range strings.Lines(listed) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, "  ") {
			run(name, "--help")
		}
	}
}

// The completion script is printed, although cobra, not Caddy, registers its command.
func TestCompletionScript(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, err := hiregate("completion", shell).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), shell+" completion for hiregate")
	}
}

// What Caddy says of a reload and of a taken port becomes a sentence that says what to do.
func TestServerCommandsSayWhatToDo(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	file := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(file, []byte("{\n\tadmin off\n}\nhttp://"+other.Addr().String()+" {\n\tbind 127.0.0.1\n}\n"), 0o600))
	for asked, want := range map[string]string{
		"run":                          "another program listens at " + other.Addr().String() + ": stop it, or have this gateway listen elsewhere",
		"reload --address 127.0.0.1:1": "no gateway runs at 127.0.0.1:1: name its admin endpoint with --address, or start it with `hiregate run`",
		"stop --address 127.0.0.1:1":   "no gateway runs at 127.0.0.1:1: name its admin endpoint with --address, or start it with `hiregate run`",
	} {
		out, err := hiregate(append(strings.Fields(asked), "--config", file)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "\n"+want)
	}
}
