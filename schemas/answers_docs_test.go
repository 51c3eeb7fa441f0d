package schemas

import (
	"go/ast"
	"go/parser"
	syntax "go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/filetype"
)

// docs/answers.md has every message, and none that there is not.
func TestDocumentedMessages(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/answers.md")
	require.NoError(t, err)
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(string(doc), -1) {
		documented = append(documented, m[1])
	}
	require.ElementsMatch(t, append(messagesInCode(t), append(sentences(), LongID)...), documented)
}

// messagesInCode are the constants of answers_messages.go, with N for a number.
func messagesInCode(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(syntax.NewFileSet(), "answers_messages.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			if text := textOf(v); text != "" {
				all = append(all, strings.ReplaceAll(text, "%d", "N"))
			}
		}
		return false
	})
	require.Greater(t, len(all), 20)
	return all
}

func sentences() (all []string) {
	for _, rule := range envelope {
		all = append(all, rule.sentence)
	}
	return all
}

func TestDocumentedTypes(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/answers.md")
	require.NoError(t, err)
	var all, resume []string
	for _, row := range regexp.MustCompile(`(?m)^\| \.\w+ \| (.+) \| (yes )?\|$`).FindAllStringSubmatch(string(doc), -1) {
		names := strings.Split(row[1], ", ")
		all = append(all, names...)
		if row[2] != "" {
			resume = append(resume, names...)
		}
	}
	require.Equal(t, filetype.All(), all)
	require.Equal(t, filetype.ForResume(), resume)
}

// textOf is a string constant, or several with + between them; empty for anything else.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	}
	return ""
}
