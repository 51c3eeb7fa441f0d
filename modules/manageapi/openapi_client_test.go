package manageapi_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// TestClientMadeOfTheDocument lints the documents as they are served, makes a client of them, and lists exports with it.
func TestClientMadeOfTheDocument(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	b.export("acme", "first")
	b.export("acme", "second")
	b.export("globex", "of another")
	folder := t.TempDir()
	for _, name := range []string{"openapi.json", "openapi-receiver.json"} {
		res, err := http.Get(b.url + "/" + name)
		require.NoError(t, err)
		defer res.Body.Close()
		document, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), document, 0o600))
	}
	out, err := exec.Command("../../scripts/openapi.sh", folder).CombinedOutput()
	require.NoError(t, err, string(out))

	require.NoError(t, os.CopyFS(folder, os.DirFS("../../tools/openapi-client")))
	gotool := func(args ...string) string {
		c := exec.Command("go", args...)
		// As a build without this test's flags, so that it finds in the cache what others compiled.
		c.Dir, c.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	gotool("build", "./receiver")
	listed := gotool("run", ".", b.url, strings.TrimPrefix(b.key("k-1", "", model.Viewer), "Bearer "), "acme")
	require.Equal(t, []string{"second", "first"}, strings.Fields(listed))
}
