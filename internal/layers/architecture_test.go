package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

var (
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	goFile    = regexp.MustCompile(`^(?:[a-z0-9_]+/)*[a-z0-9_]+\.go$`)
	goFolder  = regexp.MustCompile(`^(?:cmd|internal|modules|workflows|schemas|scripts)(?:/[a-z0-9-]+)+$`)
	goName    = regexp.MustCompile(`^(?:[A-Za-z]+\.)*[A-Z][A-Za-z]+(?:\(.*\))?$`)
	inFolder  = regexp.MustCompile("(?:Files|A file) without a folder (?:are|is) in `([^`]+)`")
	fileCount = regexp.MustCompile(`passes through (\d+) files`)
)

// foreign are names of others that docs/architecture.md mentions.
var foreign = []string{"caddy.UsagePool", "UpdateNamespace", "Connection: close", "Stop", "Start", "Cleanup", "Provision", "Validate"}

// TestArchitecturePage finds each file, folder and exported name of docs/architecture.md in the code, and counts the files of
// the walk that says their number. A file without a folder is in one that its section names before it.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	require.NoError(t, err)
	declared, err := declaredNames()
	require.NoError(t, err)
	require.Empty(t, wrongInPage(string(page), declared))
}

func wrongInPage(page string, declared map[string]bool) (wrong []string) {
	for section := range strings.SplitSeq(page, "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		folders, files := []string{}, map[string]bool{}
		for _, m := range inFolder.FindAllStringSubmatch(section, -1) {
			folders = append(folders, m[1])
		}
		steps, _, _ := strings.Cut(section, "\nNot counted:")
		counted := len(steps)
		for _, at := range quoted.FindAllStringSubmatchIndex(section, -1) {
			switch word := section[at[2]:at[3]]; {
			case goFile.MatchString(word):
				name, found := findFile(word, folders)
				if !found {
					wrong = append(wrong, fmt.Sprintf("%s: no file %s in %s", title, word, strings.Join(folders, ", ")))
					continue
				}
				folders = append(folders, path.Dir(name))
				if at[0] < counted {
					files[name] = true
				}
			case goFolder.MatchString(word):
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(word))); err != nil {
					wrong = append(wrong, fmt.Sprintf("%s: no folder %s", title, word))
				}
				folders = append(folders, word)
			case goName.MatchString(word) && !slices.Contains(foreign, word):
				name, _, _ := strings.Cut(word, "(")
				if !declared[name[strings.LastIndex(name, ".")+1:]] {
					wrong = append(wrong, fmt.Sprintf("%s: nothing is named %s", title, word))
				}
			}
		}
		if m := fileCount.FindStringSubmatch(section); m != nil && m[1] != strconv.Itoa(len(files)) {
			wrong = append(wrong, fmt.Sprintf("%s: it names %d files, not %s", title, len(files), m[1]))
		}
	}
	return wrong
}

// findFile returns the path of a file that the page names, with its folder or in the latest of those named before it.
func findFile(word string, folders []string) (name string, found bool) {
	candidates := []string{word}
	for _, folder := range slices.Backward(folders) {
		candidates = append(candidates, path.Join(folder, word), path.Join(path.Dir(folder), word))
	}
	for _, name := range candidates {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			return name, true
		}
	}
	return "", false
}

// declaredNames returns the name of each function, method, type, constant, variable and field of this module.
func declaredNames() (map[string]bool, error) {
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && skipped(name, d.Name()):
			return filepath.SkipDir
		case d.IsDir(), filepath.Ext(name) != ".go":
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					names[id.Name] = true
				}
			case *ast.Field:
				for _, id := range n.Names {
					names[id.Name] = true
				}
			}
			return true
		})
		return nil
	})
	return names, err
}

func TestWrongInPage(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{"Accept": true}
	for page, want := range map[string]string{
		"\n## One\n`internal/inbox/inbox.go`: `Accept`, then `inbox.go`":                  "",
		"\n## One\nFiles without a folder are in `modules/apply`.\n`received_answers.go`": "",
		"\n## One\n`internal/inbox/gone.go`":                                              "One: no file internal/inbox/gone.go",
		"\n## One\n`internal/gone`":                                                       "One: no folder internal/gone",
		"\n## One\n`internal/inbox/inbox.go`\n## Two\n`inbox.go`":                         "Two: no file inbox.go",
		"\n## One\n`Inbox.Gone`":                                                          "One: nothing is named Inbox.Gone",
		"\n## One\nIt passes through 2 files: `internal/inbox/inbox.go`":                  "One: it names 1 files, not 2",
	} {
		got := wrongInPage(page, declared)
		if want == "" {
			require.Empty(t, got, page)
			continue
		}
		require.Len(t, got, 1, page)
		require.Contains(t, got[0], want)
	}
}
