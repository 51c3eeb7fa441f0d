package documents

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	files, err := documents.OpenFiles(from)
	require.NoError(t, err)
	require.NoError(t, files.Prepare())
	_, err = files.Put(t.Context(), files.NewName(), strings.NewReader("a resume"), documents.MaxSize)
	require.NoError(t, err)
	for _, want := range []string{"1 documents copied (8 B), 0 were there, 0 deleted\n",
		"0 documents copied (0 B), 1 were there, 0 deleted\n"} {
		out, _, err := clitest.Run(t.Context(), Command(), "copy", from, "file://"+to)
		require.NoError(t, err)
		require.Equal(t, want, out)
	}

	_, _, err = clitest.Run(t.Context(), Command(), "copy", filepath.Join(t.TempDir(), "missing"), to)
	require.ErrorContains(t, err, "run the command again to go on")
	require.Equal(t, terminal.ExitFailed, terminal.ExitCode(err))
}

func TestCopyRefusesWhatItCannotCopy(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"are the same":              {"/a", "file:///a/"},
		"write s3://bucket/prefix":  {"/a", "s3:///prefix"},
		"can't be of scheme \"gs\"": {"gs://bucket/prefix", "/a"},
		"without a path, such as":   {"/a", "s3://bucket/prefix", "--endpoint", "https://s3.example.com/bucket"},
	} {
		_, _, err := clitest.Run(t.Context(), Command(), append([]string{"copy"}, args...)...)
		require.ErrorContains(t, err, want)
		require.Equal(t, terminal.ExitUsage, terminal.ExitCode(err))
	}
}
