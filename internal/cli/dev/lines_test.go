package dev

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
)

func TestLinesArePrefixedWhole(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	c := newConsole(&out)
	gateway, partner := c.lines("gateway", 36), c.lines("partner", 32)
	fmt.Fprintln(gateway, "while it starts")
	gateway.show()
	partner.show()
	fmt.Fprint(gateway, "one\ntw")
	fmt.Fprintln(partner, "in between")
	require.Empty(t, out.String(), "lines wait for the table")
	c.release()
	require.Equal(t, "gateway  | one\npartner  | in between\n", out.String())
	fmt.Fprint(gateway, "o\n\n \t\nthree\nfour")
	require.Equal(t, "gateway  | one\npartner  | in between\ngateway  | two\ngateway  | three\n", out.String())
	gateway.flush()
	require.True(t, strings.HasSuffix(out.String(), "gateway  | four\n"))
	require.Equal(t, "  while it starts\n  one\n  two\n  three\n  four", gateway.tail())
	require.Equal(t, "  (none)", c.lines("temporal", 35).tail())
}

// Of the gateway the terminal has what is to be seen, and its log everything; with --verbose both have everything.
func TestWarningsOfTheGatewayAreShown(t *testing.T) {
	t.Parallel()
	const info, warning = "2026-11-25T01:26:36Z\tINFO\thiregate.manage\ttenant created\t{}",
		"2026-11-25T01:26:37Z\tWARN\thiregate\tTemporal does not answer"
	const sdk = "2026-11-25T01:26:37Z\tWARN\thiregate.temporal\tFailed to poll for task.\t{}"
	for verbose, want := range map[bool][]string{false: {warning, warning, "panic: no", "\tmain.go:7"},
		true: {warning, info, warning, sdk, "panic: no", "\tmain.go:7", info}} {
		var out clitest.Buffer
		dir := t.TempDir()
		c := newConsole(&out)
		c.verbose = verbose
		gateway := c.lines("gateway", 36)
		var err error
		gateway.log, err = openLog(dir)
		require.NoError(t, err)
		gateway.show()
		fmt.Fprintf(gateway, "%s\n%s\n", info, warning) // while the sample data are made
		c.release()
		fmt.Fprintf(gateway, "%s\n%s\n%s\npanic: no\n\tmain.go:7\n", info, warning, sdk)
		c.close()
		fmt.Fprintln(gateway, info)
		gateway.log.close()
		require.Equal(t, "gateway  | "+strings.Join(want, "\ngateway  | ")+"\n", out.String())
		logged, err := os.ReadFile(filepath.Join(dir, logName))
		require.NoError(t, err)
		require.Equal(t, 8, strings.Count(string(logged), "\n"))
		require.Equal(t, 3, strings.Count(string(logged), info))
	}
}

func TestLogOfTheGatewayIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := openLog(dir)
	require.NoError(t, err)
	line := strings.Repeat("x", maxLog/4)
	for range 9 {
		log.line(line)
	}
	log.close()
	log, err = openLog(dir) // it goes on where it ended
	require.NoError(t, err)
	log.line("last")
	log.close()
	for name, want := range map[string]int{logName: len(line) + 1 + len("last\n"), logName + ".old": 4 * (len(line) + 1)} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.EqualValues(t, want, info.Size(), name)
	}
}

func TestLinesWithoutAnEndAreBounded(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	c := newConsole(&out)
	c.release()
	l := c.lines("gateway", 36)
	l.show()
	for range 5 {
		fmt.Fprint(l, strings.Repeat("x", maxLine/2))
	}
	require.Equal(t, strings.Repeat("gateway  | "+strings.Repeat("x", maxLine)+"\n", 2), out.String())
	require.Len(t, l.partial, maxLine/2)
}

func TestOldLinesAreForgotten(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	c := newConsole(&out)
	l := c.lines("gateway", 36)
	l.show()
	for n := range heldLines + 10 {
		fmt.Fprintln(l, n)
	}
	c.release()
	require.Equal(t, heldLines, strings.Count(out.String(), "\n"))
	require.True(t, strings.HasPrefix(out.String(), "gateway  | 10\n"))
	require.Equal(t, lastLines-1, strings.Count(l.tail(), "\n"))
}

func TestColoursAreForTerminals(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	require.False(t, newConsole(new(clitest.Buffer)).colours)
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Logf("this machine has no terminals: %v", err)
		return
	}
	defer terminal.Close()
	c := newConsole(terminal)
	require.True(t, c.colours)
	var out clitest.Buffer
	c.out = &out
	c.release()
	l := c.lines("gateway", 36)
	l.show()
	fmt.Fprintln(l, "one")
	require.Equal(t, "\x1b[36mgateway  | \x1b[0mone\n", out.String())
	t.Setenv("NO_COLOR", "1")
	require.False(t, newConsole(terminal).colours)
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	require.False(t, newConsole(terminal).colours)
}

func TestAwaitedLine(t *testing.T) {
	t.Parallel()
	l := newConsole(new(clitest.Buffer)).lines("temporal", 35)
	seen := l.await(temporalReady)
	fmt.Fprintln(l, "not temporal-dev: ready on 127.0.0.1:7233")
	require.Never(t, func() bool { return isClosed(seen) }, 20*time.Millisecond, 5*time.Millisecond)
	fmt.Fprintln(l, "temporal-dev: ready on 127.0.0.1:7233")
	fmt.Fprintln(l, "temporal-dev: ready on 127.0.0.1:7233")
	require.True(t, isClosed(seen))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
