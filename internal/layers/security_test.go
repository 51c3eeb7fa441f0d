package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each test that docs/security.md names is there.
func TestSecurityPageNamesTests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`((?:[a-z0-9-]+/)*[a-z0-9-]+)\\.(Test[A-Za-z0-9]+)`").FindAllSubmatch(page, -1)
	require.Greater(t, len(named), 30)
	for _, n := range named {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(string(n[1])), "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, file := range files {
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || regexp.MustCompile(`(?m)^func `+string(n[2])+`\(`).Match(code)
		}
		require.True(t, found, "%s has no %s", n[1], n[2])
	}
}
