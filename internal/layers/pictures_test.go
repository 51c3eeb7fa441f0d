package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each picture of docs/images is on a page, or linked there.
func TestEachPictureIsOnAPage(t *testing.T) {
	t.Parallel()
	docs := filepath.Join(root, "docs")
	var text strings.Builder
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	require.NoError(t, err)
	for _, name := range pages {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		text.Write(page)
	}
	pictures, err := filepath.Glob(filepath.Join(docs, "images", "*", "*.png"))
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(docs, "images", "*.png"))
	require.NoError(t, err)
	pictures = append(pictures, more...)
	require.Greater(t, len(pictures), 50)
	for _, name := range pictures {
		link, err := filepath.Rel(docs, name)
		require.NoError(t, err)
		require.Contains(t, text.String(), "("+filepath.ToSlash(link)+")")
	}
}
