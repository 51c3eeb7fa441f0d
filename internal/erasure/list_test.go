package erasure_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/erasure"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, path string) *erasure.List {
	t.Helper()
	l, err := erasure.Open(path)
	require.NoError(t, err)
	return l
}

// filled returns the path of a list with three entries.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "erasures")
	l := open(t, path)
	for n, id := range []string{"c-1", "u-1", "c-2"} {
		number, err := l.Append([]erasure.Kind{erasure.Person, erasure.Export, erasure.Candidate}[n], "acme", id, noon)
		require.NoError(t, err)
		require.EqualValues(t, n+1, number)
	}
	return path
}

func TestEntriesAreFoundByTheirKeyedHashes(t *testing.T) {
	t.Parallel()
	path := filled(t)
	l := open(t, path)
	require.EqualValues(t, 3, l.Len())
	all, n, err := l.After(0)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.Equal(t, noon, all.Export("acme", "u-1", ""))
	require.Equal(t, noon, all.Export("acme", "u-7", "c-1"), "an export of a person")
	require.Zero(t, all.Export("acme", "u-8", "c-2"), "the candidate alone was erased")
	require.Equal(t, noon, all.Candidate("acme", "c-1"))
	require.Equal(t, noon, all.Candidate("acme", "c-2"))
	require.Zero(t, all.Candidate("globex", "c-1"), "of another tenant")
	require.Zero(t, all.Candidate("acme", "u-1"), "an export's id")
	require.Zero(t, all.Export("acmeu", "-1", ""))

	rest, n, err := l.After(2)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Zero(t, rest.Export("acme", "u-1", ""))

	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "acme")
	require.NotContains(t, string(raw), "c-1")
	for _, name := range []string{path, path + ".key", path + ".head"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}

// TestDamagedListNamesItsLine changes a list in each way that an accident or a person does.
func TestDamagedListNamesItsLine(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		change func(lines [][]byte) [][]byte
		want   string
	}{
		"edited": {func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte("export"), []byte("person"), 1)
			return l
		}, "line 2 of "},
		"a line removed":     {func(l [][]byte) [][]byte { return [][]byte{l[0], l[2]} }, "line 2 of "},
		"lines swapped":      {func(l [][]byte) [][]byte { return [][]byte{l[1], l[0], l[2]} }, "line 1 of "},
		"a line twice":       {func(l [][]byte) [][]byte { return append(l, l[2]) }, "line 4 of "},
		"the end lost":       {func(l [][]byte) [][]byte { return l[:2] }, "line 3 of "},
		"cut within a line":  {func(l [][]byte) [][]byte { return append(l[:2], l[2][:50]) }, "line 3 of "},
		"empty":              {func([][]byte) [][]byte { return nil }, "line 1 of "},
		"a signature edited": {func(l [][]byte) [][]byte { l[0][len(l[0])-10] ^= 1; return l }, "line 1 of "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := bytes.SplitAfter(raw, []byte("\n"))[:3]
			require.NoError(t, os.WriteFile(path, bytes.Join(one.change(lines), nil), 0o600))
			_, err = erasure.Open(path)
			require.ErrorContains(t, err, one.want+path)
		})
	}
	path := filled(t)
	_, _, err := open(t, path).After(4)
	require.ErrorContains(t, err, "line 4 of "+path+" is missing: the database knows of 4 erasures")
	for _, lost := range []string{".key", ".head"} {
		path := filled(t)
		require.NoError(t, os.Remove(path+lost))
		_, err := erasure.Open(path)
		require.ErrorContains(t, err, path+lost)
	}
	other := filled(t)
	require.NoError(t, os.Rename(other, path))
	_, err = erasure.Open(path)
	require.ErrorContains(t, err, "line 1 of "+path+" was not signed by this list's key")
}

// TestWhatACrashLeavesOfAnAppendIsReplaced leaves a long piece of a line: the erasure of that line never began.
func TestWhatACrashLeavesOfAnAppendIsReplaced(t *testing.T) {
	t.Parallel()
	path := filled(t)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"number":4,` + strings.Repeat(" ", 1000))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	l := open(t, path)
	require.EqualValues(t, 3, l.Len())
	n, err := l.Append(erasure.Export, "acme", "u-4", noon)
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
	require.EqualValues(t, 4, open(t, path).Len())
}

// TestSeveralAppendToOneList has four lists open on one file, as nodes have.
func TestSeveralAppendToOneList(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "erasures")
	var all sync.WaitGroup
	errs := make([]error, 4)
	for n := range errs {
		all.Go(func() {
			l, err := erasure.Open(path)
			for i := 0; err == nil && i < 10; i++ {
				_, err = l.Append(erasure.Export, "acme", fmt.Sprint("u-", n, "-", i), noon)
			}
			errs[n] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	found, n, err := open(t, path).After(0)
	require.NoError(t, err)
	require.EqualValues(t, 40, n)
	require.Equal(t, noon, found.Export("acme", "u-3-9", ""))
}
