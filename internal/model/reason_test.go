package model_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

var name = regexp.MustCompile(`\{[a-z]+\}`)

// Each sentence is taken apart as itself, and no other one before it takes it.
func TestReasonsAreTakenApart(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	for _, r := range model.Reasons {
		require.False(t, codes[r.Code], r.Code)
		codes[r.Code] = true
		want := &model.Reason{Code: r.Code}
		sentence := name.ReplaceAllStringFunc(r.Sentence, func(p string) string {
			if want.Params == nil {
				want.Params = map[string]string{}
			}
			of := strings.Trim(p, "{}")
			want.Params[of] = "value-" + of
			return want.Params[of]
		})
		require.Equal(t, want, model.ParseReason(sentence))
	}
	require.Nil(t, model.ParseReason(""))
	require.Nil(t, model.ParseReason("a sentence that nobody has written"))
	require.Equal(t, &model.Reason{Code: "breaker_open", Params: map[string]string{"integration": "hris",
		"since": "02:31:00 UTC", "probe": "03:52:00 UTC", "cause": "answered 503; only 2xx means received"},
		Cause: &model.Reason{Code: "answered", Params: map[string]string{"status": "503"}}},
		model.ParseReason("integration hris has failed since 02:31:00 UTC; next probe 03:52:00 UTC: "+
			"answered 503; only 2xx means received"))
	require.Equal(t, &model.Reason{Code: "need_waiting", Params: map[string]string{"n": "40",
		"cause": "acme/hris: it is failing, 14 times in a row: hr.example did not answer in time (10s at most): it should acknowledge first " +
			"and work afterwards"},
		Cause: &model.Reason{Code: "need_failing", Params: map[string]string{"integration": "acme/hris", "n": "14",
			"cause": "hr.example did not answer in time (10s at most): it should acknowledge first and work afterwards"},
			Cause: &model.Reason{Code: "timeout", Params: map[string]string{"host": "hr.example", "most": "10s"}}}},
		model.ParseReason("acme/hris: it is failing, 14 times in a row: hr.example did not answer in time (10s at most): it should "+
			"acknowledge first and work afterwards; exports wait for it: 40"))
}

// The code of the gateway still writes each sentence: one that is reworded there is reworded in the table.
func TestReasonsAreWritten(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`%(\[\d\])?[sdv]`)
	varying := regexp.MustCompile(`(\x00[/ ]?)+`)
	var written []string
	for _, root := range []string{"../../workflows", "../../modules/manageapi", ".."} {
		require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(path, "model/reason.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), root+"/"+path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text := textOf(e)
				if text == "" || text == "\x00" {
					return true
				}
				written = append(written, varying.ReplaceAllString(verb.ReplaceAllString(text, "\x00"), "\x00"))
				return false
			})
			return nil
		}))
	}
	all := strings.Join(written, "\n")
	for _, r := range model.Reasons {
		sentence := strings.Trim(varying.ReplaceAllString(name.ReplaceAllString(r.Sentence, "\x00"), "\x00"), "\x00")
		require.True(t, strings.Contains(all, sentence), "nothing writes %q (%s) any more", r.Sentence, r.Code)
	}
}

// textOf is the text of a string expression, with a NUL for each part that varies; empty: it has no text.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			x, y := textOf(e.X), textOf(e.Y)
			if x != "" && y == "" {
				y = "\x00"
			}
			return x + y
		}
	}
	return ""
}
