package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/scan"
)

const patience = 30 * time.Second

// marker is what the scanners of these tests take for harmful.
const marker = "hiregate-test-marker"

func scanner(t *testing.T, args ...string) scan.Scanner {
	t.Helper()
	s, err := scan.New(args)
	require.NoError(t, err)
	return s
}

func TestArguments(t *testing.T) {
	t.Parallel()
	const usage = "scan takes a scanner: write `scan exec clamdscan --no-summary -` or `scan clamd 127.0.0.1:3310`"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, usage},
		{[]string{"exec"}, usage},
		{[]string{"clamd"}, usage},
		{[]string{"clamd", "127.0.0.1:3310", "more"}, usage},
		{[]string{"other", "thing"}, usage},
		{[]string{"clamd", "3310"}, `scan: "3310" is no address of clamd: write host:port, such as 127.0.0.1:3310`},
		{[]string{"clamd", "host:0"}, `scan: "host:0" is no address of clamd: write host:port, such as 127.0.0.1:3310`},
	} {
		require.EqualError(t, scan.Check(c.args), c.want)
		_, err := scan.New(c.args)
		require.EqualError(t, err, c.want)
	}
	require.NoError(t, scan.Check([]string{"exec", "no-such-program"}), "it may be there where the gateway runs")
	_, err := scan.New([]string{"exec", "no-such-program"})
	require.ErrorIs(t, err, exec.ErrNotFound)
	require.ErrorContains(t, err, "scan: the program no-such-program can't be run: install it, or write its whole path")
}

func TestAProgramTellsByItsExitStatus(t *testing.T) {
	t.Setenv("HIREGATE_TEST_SECRET", "secret")
	for _, c := range []struct{ name, script, found, fault string }{
		{name: "clean", script: "cat >/dev/null"},
		{name: "it need not read all", script: "exit 0"},
		{name: "found", script: "echo Some.Name FOUND; echo more; exit 1", found: "Some.Name FOUND"},
		{name: "found without words", script: "exit 1", found: "harmful content"},
		{name: "what can't be shown", script: `printf 'a\033[1mb'; exit 1`, found: "a [1mb"},
		{name: "many words", script: "head -c 100000 /dev/zero | tr '\\0' x; exit 1", found: strings.Repeat("x", 200)},
		{name: "failed", script: "exit 2", fault: "the scanner ended with exit status 2"},
		{name: "killed", script: "kill -9 $$", fault: "the scanner ended with signal: killed"},
		{name: "no secret reaches it", script: `test -z "$HIREGATE_TEST_SECRET" && test -n "$PATH"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := scanner(t, "exec", "sh", "-c", c.script).Scan(t.Context(), io.LimitReader(zeros{}, 1<<20))
			if c.fault != "" {
				require.ErrorContains(t, err, c.fault)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.found, found)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAProgramReadsTheContent(t *testing.T) {
	t.Parallel()
	s := scanner(t, "exec", "sh", "-c", "if grep -q "+marker+"; then echo Marker; exit 1; fi")
	found, err := s.Scan(t.Context(), strings.NewReader("nothing"))
	require.NoError(t, err)
	require.Empty(t, found)
	found, err = s.Scan(t.Context(), strings.NewReader("a "+marker+" b"))
	require.NoError(t, err)
	require.Equal(t, "Marker", found)
}

func TestAProgramThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := scanner(t, "exec", "sh", "-c", "sleep 1000").Scan(ctx, strings.NewReader("x"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTwoProgramsRunAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := scanner(t, "exec", "sh", "-c", "touch "+dir+"/$$; while [ ! -e "+dir+"/go ]; do sleep 0.01; done")
	ended := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := s.Scan(context.Background(), strings.NewReader(""))
			ended <- err
		}()
	}
	running := func() int {
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(all)
	}
	require.Eventually(t, func() bool { return running() == 2 }, patience, time.Millisecond)
	require.Never(t, func() bool { return running() > 2 }, 200*time.Millisecond, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for range 3 {
		require.NoError(t, <-ended)
	}
}

// startClamd runs a real clamd that knows one signature, the marker.
func startClamd(t *testing.T) (address string) {
	t.Helper()
	path, err := exec.LookPath("clamd")
	if err != nil {
		path = "/usr/sbin/clamd"
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NoError(t, os.Mkdir(filepath.Join(dir, "signatures"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "signatures", "test.ndb"),
		fmt.Appendf(nil, "Hiregate.Marker:0:*:%x\n", marker), 0o644))
	config := filepath.Join(dir, "clamd.conf")
	require.NoError(t, os.WriteFile(config,
		[]byte("Foreground yes\nTCPSocket "+port+"\nTCPAddr 127.0.0.1\nStreamMaxLength 2M\nDatabaseDirectory "+
			filepath.Join(dir, "signatures")+"\nTemporaryDirectory "+dir+"\n"), 0o644))
	var out bytes.Buffer
	c := exec.Command(path, "--config-file", config)
	c.Stdout, c.Stderr = &out, &out
	require.NoError(t, c.Start(), "clamd is missing: make deps installs it")
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		if t.Failed() {
			t.Logf("clamd: %s", &out)
		}
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond, "clamd does not listen")
	return address
}

func TestClamd(t *testing.T) {
	t.Parallel()
	s := scanner(t, "clamd", startClamd(t))
	long := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB, many pieces
	for _, c := range []struct{ name, content, found string }{
		{"clean", "nothing", ""},
		{"empty", "", ""},
		{"harmful", marker, "Hiregate.Marker"},
		{"long and clean", long, ""},
		{"long and harmful", long + marker, "Hiregate.Marker"},
	} {
		found, err := s.Scan(t.Context(), strings.NewReader(c.content))
		require.NoError(t, err, c.name)
		require.Contains(t, found, c.found, c.name) // a signature of our own is marked .UNOFFICIAL
		require.Equal(t, c.found == "", found == "", c.name)
	}
	_, err := s.Scan(t.Context(), io.LimitReader(zeros{}, 8<<20))
	require.ErrorContains(t, err, "StreamMaxLength")
	broken := errors.New("the disk broke")
	_, err = s.Scan(t.Context(), io.MultiReader(strings.NewReader(long), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken, "half of a document is no document")
}

func TestClamdThatIsNotThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	silent := l.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = scanner(t, "clamd", silent).Scan(ctx, strings.NewReader("x"))
	require.ErrorIs(t, err, context.DeadlineExceeded, "it never answers")
	require.NoError(t, l.Close())
	_, err = scanner(t, "clamd", silent).Scan(t.Context(), strings.NewReader("x"))
	require.ErrorContains(t, err, "clamd does not answer")
}
