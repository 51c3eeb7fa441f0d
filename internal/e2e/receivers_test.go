package e2e

import (
	goflag "flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const receiversPage = "../../docs/receivers.md"

// naiveShown is how many lines the page has of what `hiregate check` says of the first receiver.
const naiveShown = 9

var renew = goflag.Bool("renew", false, "write what hiregate check says of the first receiver into docs/receivers.md")

// The receivers of docs/receivers.md, in the languages that can be run here, pass `hiregate check receiver`; the one that
// everybody writes first fails what the page says.
func TestReceiversOfThePage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(receiversPage)
	require.NoError(t, err)
	page := string(raw)
	parts := strings.Split(page, "\n## ")
	require.Len(t, parts, 9)
	codes := map[string]string{}
	for _, part := range parts[1:] {
		title, _, _ := strings.Cut(part, "\n")
		_, code, ok := strings.Cut(part, "\n```")
		require.True(t, ok, title)
		_, code, _ = strings.Cut(code, "\n")
		code, _, ok = strings.Cut(code, "```")
		require.True(t, ok, title)
		require.LessOrEqual(t, strings.Count(code, "\n"), 39, "%s is too long to be copied", title)
		codes[title] = code
	}

	out := checkReceiver(t, codes["What everybody writes first"], "naive.py", "python3")
	var failures []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "CHECK ") || strings.Contains(line, "  failed  ") {
			failures = append(failures, strings.TrimRight(line, "\n"))
		}
	}
	require.Greater(t, len(failures), naiveShown, out)
	failures = append(failures[:naiveShown:naiveShown], fmt.Sprintf("… and %d more", len(failures)-naiveShown))
	before, rest, _ := strings.Cut(page, "<!-- naive -->\n")
	_, after, ok := strings.Cut(rest, "\n<!-- end -->")
	require.True(t, ok)
	wanted := before + "<!-- naive -->\n\n```\n" + strings.Join(failures, "\n") + "\n```\n" + "\n<!-- end -->" + after
	if *renew {
		require.NoError(t, os.WriteFile(receiversPage, []byte(wanted), 0o644))
	} else {
		require.Equal(t, wanted, page, "go test ./internal/e2e -run TestReceiversOfThePage -renew writes it")
	}

	for title, with := range map[string][]string{
		"Python":     {"receiver.py", "python3"},
		"TypeScript": {"receiver.mjs", "node"},
		"Go":         {"receiver.go", "go", "run"},
		"PHP":        {"receiver.php", "php", "-S", "ADDRESS"},
		"Ruby":       {"receiver.rb", "ruby"},
	} {
		out := checkReceiver(t, codes[title], with[0], with[1:]...)
		require.Contains(t, out, "39 of 42 checks passed; failed: 0 must, 1 should; skipped: 2.", "%s:\n%s", title, out)
	}
}

// checkReceiver runs the code of a receiver and returns what `hiregate check receiver` says of it.
func checkReceiver(t *testing.T, code, name string, command ...string) string {
	t.Helper()
	folder := t.TempDir()
	file, secret, next := filepath.Join(folder, name), filepath.Join(folder, "secret"), filepath.Join(folder, "next")
	for path, text := range map[string]string{file: code, secret: "the-secret", next: "the-next-secret"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	port := freePorts(t, 1)[0]
	args := append(command[1:len(command):len(command)], file)
	for n := range args {
		args[n] = strings.ReplaceAll(args[n], "ADDRESS", loopback(port))
	}
	receiver := start(t, []string{fmt.Sprint("PORT=", port), "SECRET=the-secret", "NEXT_SECRET=the-next-secret",
		"PHP_CLI_SERVER_WORKERS=16"}, command[0], args...)
	defer func() { _ = syscall.Kill(-receiver.cmd.Process.Pid, syscall.SIGKILL) }() // and what it started
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", loopback(port))
		if err == nil {
			connection.Close()
		}
		return err == nil
	}, patience, 50*time.Millisecond, "%s does not listen", name)
	out, _ := run(t, nil, hiregate(t), "check", "receiver", "http://"+loopback(port), "--secret", secret, "--next-secret", next)
	return out
}
