package layers

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	pageName = regexp.MustCompile(`\bdocs/([a-z-]+\.md)(?:#([a-z-]+))?`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	dropped  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere follows each relative link of the pages, and each mention of a page of docs in other files, to a file
// and a heading.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	followed := 0
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && skipped(name, d.Name()) {
			return filepath.SkipDir
		}
		found, folder := pageName, filepath.Join(root, "docs")
		switch path.Ext(name) {
		case ".md":
			found, folder = link, filepath.Dir(name)
		case ".go", ".yml", ".json", ".Caddyfile", ".service":
		default:
			return nil
		}
		text, err := os.ReadFile(name)
		for _, m := range found.FindAllStringSubmatch(string(fenced.ReplaceAll(text, nil)), -1) {
			if target := m[1]; !strings.Contains(target, "://") {
				followed++
				requireTarget(t, name, folder, target, m[2])
			}
		}
		return err
	}))
	require.Greater(t, followed, 200)
}

// requireTarget looks for the file that a link names, relative to a folder, and for the heading; no file is the page itself.
func requireTarget(t *testing.T, page, folder, target, anchor string) {
	t.Helper()
	file := filepath.Join(folder, filepath.FromSlash(target))
	if target == "" {
		file = page
	}
	text, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
		err = nil
	}
	require.NoError(t, err, "%s links to %s", page, target)
	if anchor == "" {
		return
	}
	for _, h := range heading.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1) {
		slug := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(string(h[1])), ""), " ", "-")
		if slug == anchor {
			return
		}
	}
	require.Fail(t, "no such heading", "%s links to %s#%s", page, target, anchor)
}
