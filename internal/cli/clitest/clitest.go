// Package clitest runs commands in tests.
package clitest

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

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// Run runs a command to its end. Its error is returned and not printed: that is for the program that runs it.
func Run(ctx context.Context, cmd *cobra.Command, args ...string) (out, hints string, err error) {
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(append([]string{}, args...)) // for nil cobra takes the arguments of the test
	cmd.SilenceErrors = true
	err = cmd.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// Buffer can be read while a command writes to it.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// JSONLines decodes the whole lines of out that are of a kind.
func JSONLines[T any](t *testing.T, out, kind string) []T {
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

// File writes a file for a test, and returns its path.
func File(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// PDF is a file of that type.
var PDF = []byte("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
