package platform

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everywhere are the names of package syscall that exist on Linux, macOS and Windows.
var everywhere = strings.Fields(`SIGTERM RawConn Errno EACCES EADDRINUSE EADDRNOTAVAIL ECONNREFUSED ECONNRESET EDQUOT EFBIG ENOSPC EPIPE`)

// laboratory are packages that run on Linux only: tests import them, the product does not.
var laboratory = []string{"internal/fulldisktest", "internal/store/storetest", "internal/e2e"}

// So that the check before each change needs to compile only these two packages for other systems.
func TestOtherPackagesAreTheSameOnEverySystem(t *testing.T) {
	t.Parallel()
	root, files := "../..", 0
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "cmd/temporal-dev" || rel == "cmd/bench" || rel == "cmd/powercut" || rel == "cmd/release" ||
			rel == "internal/platform" || rel == "internal/filelock" ||
			d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".git")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, folder := range laboratory {
			if strings.HasPrefix(rel, folder+"/") {
				return nil
			}
		}
		files++
		for _, system := range []string{"linux", "darwin", "windows"} {
			context := build.Default
			context.GOOS, context.BuildTags = system, []string{"failpoints"}
			included, err := context.MatchFile(filepath.Dir(name), filepath.Base(name))
			require.NoError(t, err)
			assert.True(t, included || strings.HasPrefix(rel, "internal/failpoint/"), "%s is left out on %s: put what "+
				"differs between systems into internal/platform", rel, system)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			of, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if pkg, named := of.X.(*ast.Ident); named && pkg.Name == "syscall" {
				assert.Contains(t, everywhere, of.Sel.Name, "%s: add it to this list if all systems have it, or put it "+
					"into internal/platform", rel)
			}
			return true
		})
		for _, imported := range file.Imports {
			assert.NotContains(t, imported.Path.Value, "golang.org/x/sys/", rel)
		}
		return nil
	}))
	require.NotZero(t, files)
}
