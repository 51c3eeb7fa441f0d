package commands

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	secret     = "s3cret"
	fullExport = "../../testdata/samples/export-full.json"
)

// buffer can be read while a command writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// jsonLines decodes the whole lines of a kind.
func jsonLines[T any](t *testing.T, out, kind string) []T {
	t.Helper()
	var all []T
	for scan := bufio.NewScanner(strings.NewReader(out[:strings.LastIndexByte(out, '\n')+1])); scan.Scan(); {
		var line struct{ Kind string }
		require.NoError(t, json.Unmarshal(scan.Bytes(), &line), "%s", scan.Text())
		if line.Kind == kind {
			var v T
			require.NoError(t, json.Unmarshal(scan.Bytes(), &v))
			all = append(all, v)
		}
	}
	return all
}

// send runs `hiregate send` to its end.
func send(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	return sendIn(t, t.Context(), args...)
}

func sendIn(t *testing.T, ctx context.Context, args ...string) (out, log string, err error) {
	t.Helper()
	cmd := Send()
	var stdout, stderr buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// running is a `hiregate listen` on a free port.
type running struct {
	t    *testing.T
	url  string
	out  *buffer
	stop func() error // as Ctrl-C does
}

func listen(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, out: new(buffer)}
	cmd := Listen()
	cmd.SetOut(r.out)
	cmd.SetErr(new(buffer))
	cmd.SetArgs(append([]string{"--addr", "127.0.0.1:0", "--secret", secret, "--json"}, args...))
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = cmd.ExecuteContext(ctx)
	}()
	r.stop = func() error {
		cancel()
		<-ended
		return err
	}
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	require.Eventually(t, func() bool { return strings.Contains(r.out.String(), "\n") }, 5*time.Second, time.Millisecond)
	r.url = "http://" + jsonLines[struct{ Address string }](t, r.out.String(), "listening")[0].Address
	return r
}

// entries waits until there are n lines of a kind.
func (r *running) entries(kind string, n int) []entry {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Count(r.out.String(), `"kind":"`+kind+`"`) >= n }, 10*time.Second, time.Millisecond,
		"%d lines of kind %s", n, kind)
	all := jsonLines[entry](r.t, r.out.String(), kind)
	require.Len(r.t, all, n)
	return all
}

// file writes a file for a test.
func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

var samplePDF = []byte("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
