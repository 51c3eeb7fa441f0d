package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// speakManagementAPI are the packages that send or receive messages of the management API.
var speakManagementAPI = []string{"modules/manageapi", "modules/manageapi/accounts", "modules/manageapi/recruiting",
	"modules/manageapi/rest", "modules/console", "internal/cli/admin"}

// Each message of the management API is declared once, in internal/api or internal/model: the packages that send and
// receive them have no struct for JSON.
func TestMessagesAreDeclaredOnce(t *testing.T) {
	t.Parallel()
	for _, folder := range speakManagementAPI {
		found, files, err := structsForJSON(filepath.Join("..", "..", filepath.FromSlash(folder)))
		require.NoError(t, err)
		require.NotZero(t, files, folder)
		require.Empty(t, found, "move them to internal/api")
	}
}

func TestStructsForJSON(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, code := range map[string]string{
		"a.go":      "package a\n\ntype A struct{ B int }\n\nfunc f() {\n\tvar in struct {\n\t\tID string `json:\"id\"`\n\t}\n}\n",
		"a_test.go": "package a\n\ntype T struct {\n\tID string `json:\"id\"`\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(code), 0o644))
	}
	found, files, err := structsForJSON(folder)
	require.NoError(t, err)
	require.Equal(t, 1, files)
	require.Equal(t, []string{"a.go:6"}, found)
}

// structsForJSON returns the places of the structs with a tag json in the files of a folder, without tests, and the number
// of the files.
func structsForJSON(folder string) (found []string, files int, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, name := range names {
		if err != nil {
			break
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		set := token.NewFileSet()
		var f *ast.File
		if f, err = parser.ParseFile(set, name, nil, parser.SkipObjectResolution); err != nil {
			break
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`) {
					found = append(found, fmt.Sprintf("%s:%d", filepath.Base(name), set.Position(s.Pos()).Line))
					return true
				}
			}
			return true
		})
	}
	return found, files, err
}
