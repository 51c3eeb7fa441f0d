package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// roundabout finds a doc comment that defines a name by a clause, as in "page is what a page shows" or "colors are those of
// the states": it has to be read twice. It should begin with what the thing is or does.
var roundabout = regexp.MustCompile(`^\w+ (?:is|are) (?:what|whoever|who|those|that of)\b`)

// stillRoundabout lists the packages that have such comments.
var stillRoundabout = strings.Fields(`cmd/hiregate internal/cli/admin schemas workflows/export`)

func TestDocCommentsSayWhatAThingIs(t *testing.T) {
	t.Parallel()
	var wrong []string
	comments := 0
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.IsDir(), filepath.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); slices.Contains(stillRoundabout, path.Dir(rel)) {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, doc := range docComments(f) {
			comments++
			if text := doc.Text(); roundabout.MatchString(text) {
				first, _, _ := strings.Cut(text, "\n")
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s", rel, set.Position(doc.Pos()).Line, first))
			}
		}
		return nil
	}))
	require.NotZero(t, comments)
	require.Empty(t, wrong)
}

// docComments returns the comments of a file's declarations, and of the fields and methods in them.
func docComments(f *ast.File) (all []*ast.CommentGroup) {
	ast.Inspect(f, func(n ast.Node) bool {
		var doc *ast.CommentGroup
		switch n := n.(type) {
		case *ast.FuncDecl:
			doc = n.Doc
		case *ast.GenDecl:
			doc = n.Doc
		case *ast.TypeSpec:
			doc = n.Doc
		case *ast.ValueSpec:
			doc = n.Doc
		case *ast.Field:
			doc = n.Doc
		}
		if doc != nil {
			all = append(all, doc)
		}
		return true
	})
	return all
}

func TestRoundabout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"page is what a page shows.":                        true,
		"colors are those of the states.":                   true,
		"caller is whoever sent a request.":                 true,
		"Since is that of the first one.":                   true,
		"page is the template data of a page.":              false,
		"backoff is how long a delivery waits.":             false,
		"Ports returns what the ports are.":                 false,
		"Open is called once. It is what opens a database.": false,
	} {
		require.Equal(t, want, roundabout.MatchString(text), text)
	}
}
