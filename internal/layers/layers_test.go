// Package layers keeps the layer rule: cmd → modules → internal/gateway → workflows → schemas, internal. Tests may
// import what they like.
package layers

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	ours     = "github.com/hiregate/hiregate/"
	caddy    = "github.com/caddyserver/caddy/"
	temporal = "go.temporal.io/"
)

// below says for each layer which layers its packages may import. A layer is a folder without those below it that are
// layers themselves. A main package is of layer cmd wherever it lies: nothing can import it.
var below = map[string]string{
	"cmd":              "modules internal/gateway workflows schemas internal caddyfile",
	"modules":          "modules internal/gateway workflows schemas internal",
	"internal/gateway": "internal/gateway workflows schemas internal",
	"workflows":        "workflows schemas internal",
	"schemas":          "schemas internal",
	"internal":         "schemas internal caddyfile",
	"caddyfile":        "",
}

// knowCaddy are the packages that may import Caddy, beside main packages.
const knowCaddy = "modules modules/app modules/listener"

// rooms are the packages through which an export goes, from how it is attempted to who has it attempted again. None imports a
// later one.
const rooms = "internal/delivery workflows/export workflows/dispatch workflows/rounds"

// layerOf returns the layer of a package, or of none: its top folder.
func layerOf(pkg string) string {
	for folder := pkg; folder != "."; folder = path.Dir(folder) {
		if _, known := below[folder]; known {
			return folder
		}
	}
	top, _, _ := strings.Cut(pkg, "/")
	return top
}

func isOneOf(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// check returns the violations in the Go files below root, a sentence each, and the number of files it looked at.
func check(root string) (violations []string, files int, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && skipped(name, d.Name()):
			return filepath.SkipDir
		case d.IsDir(), filepath.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("read imports: %w", err)
		}
		files++
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("read imports of %s: %w", rel, err)
			}
			if why := forbidden(path.Dir(filepath.ToSlash(rel)), f.Name.Name, imported); why != "" {
				violations = append(violations, fmt.Sprintf("%s imports %s: %s", filepath.ToSlash(rel), imported, why))
			}
		}
		return nil
	})
	return violations, files, err
}

// skipped reports whether a folder holds no packages of this module.
func skipped(folder, name string) bool {
	if name == "testdata" || name[0] == '.' || name[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// forbidden says why a package, in a folder, must not import imported; empty: it may.
func forbidden(folder, pkg, imported string) string {
	layer := layerOf(folder)
	if pkg == "main" {
		layer = "cmd"
	}
	if strings.HasPrefix(imported, caddy) && layer != "cmd" && !isOneOf(knowCaddy, folder) {
		return "only " + strings.ReplaceAll(knowCaddy, " ", ", ") + " and cmd import Caddy"
	}
	if strings.HasPrefix(imported, temporal) && folder == "internal/delivery" {
		return "how a delivery is attempted has nothing to do with who has it attempted"
	}
	target, own := strings.CutPrefix(imported, ours)
	allowed, known := below[layer]
	switch {
	case !own:
		return ""
	case strings.HasPrefix(folder+"/", "internal/model/"):
		return "internal/model imports nothing of ours"
	case folder == "internal/api" && target != "internal/model":
		return "internal/api imports only internal/model of ours"
	case strings.HasPrefix(target, "internal/cli/") && layer != "cmd" && !strings.HasPrefix(folder, "internal/cli/"):
		return "only cmd imports the command line"
	case isOneOf(rooms, folder) && isOneOf(rooms, target) && strings.Index(rooms, target) > strings.Index(rooms, folder):
		return "the way of an export goes through its rooms in order: " + rooms
	case strings.HasPrefix(target, "modules/") && layer == "modules" && folder != "modules" &&
		!strings.HasPrefix(target, strings.Join(strings.SplitN(folder, "/", 3)[:2], "/")+"/"):
		return "modules do not import one another: only the package modules imports them"
	case !known:
		return layer + " is no layer; put the package into one, or add the layer in internal/layers"
	case !isOneOf(allowed, layerOf(target)):
		return layer + " must not import " + layerOf(target)
	}
	return ""
}

func TestLayers(t *testing.T) {
	t.Parallel()
	violations, files, err := check("../..")
	require.NoError(t, err)
	require.NotZero(t, files)
	require.Empty(t, violations)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, pkg, imported, want string }{
		{"cmd/hiregate/main.go", "main", ours + "modules", ""},
		{"modules/modules.go", "modules", ours + "modules/receiver", ""},
		{"modules/modules.go", "modules", caddy + "v2", ""},
		{"modules/export_receiver.go", "modules", caddy + "v2/modules/caddyhttp", ""},
		{"modules/app/app.go", "gateway", caddy + "v2", ""},
		{"modules/app/app.go", "gateway", ours + "internal/gateway", ""},
		{"modules/receiver/receiver.go", "receiver", ours + "internal/gateway", ""},
		{"internal/gateway/runtime.go", "gateway", ours + "workflows/export", ""},
		{"internal/gateway/gatewaytest/beside.go", "gatewaytest", ours + "internal/gateway", ""},
		{"modules/receiver/receiver_test.go", "receiver", caddy + "v2", ""},
		{"modules/manageapi/routes.go", "manageapi", ours + "modules/manageapi/rest", ""},
		{"modules/manageapi/accounts/users.go", "accounts", ours + "modules/manageapi/rest", ""},
		{"modules/receiver/receiver.go", "receiver", ours + "workflows/export", ""},
		{"workflows/export/workflow.go", "export", ours + "internal/model", ""},
		{"workflows/rounds/redeliver.go", "rounds", ours + "workflows/dispatch", ""},
		{"workflows/dispatch/start.go", "dispatch", ours + "workflows/export", ""},
		{"internal/store/store_test.go", "store", ours + "modules/app", ""},
		{"internal/store/store.go", "store", ours + "internal/model", ""},
		{"internal/model/export.go", "hiring", "net/http", ""},
		{"schemas/guard.go", "schemas", ours + "internal/model", ""},
		{"internal/api/exports.go", "api", ours + "internal/model", ""},
		{"cmd/other/main.go", "main", "example.com/other", ""},
		{"cmd/hiregate/main.go", "main", ours + "internal/cli/send", ""},
		{"internal/cli/dev/sample.go", "dev", ours + "internal/cli/admin", ""},
		{"internal/cli/admin/fixture_test.go", "admin_test", ours + "modules/manageapi", ""},
		{"testdata/x.go", "x", ours + "modules", ""},
		{".cache/x.go", "x", ours + "modules", ""},

		{"modules/receiver/receiver.go", "receiver", caddy + "v2", "modules/listener and cmd import Caddy"},
		{"modules/app/deep/metrics.go", "deep", caddy + "v2/caddyconfig", "and cmd import Caddy"},
		{"internal/gateway/runtime.go", "gateway", caddy + "v2", "and cmd import Caddy"},
		{"internal/delivery/step.go", "delivery", temporal + "sdk/activity", "has nothing to do with who"},
		{"modules/receiver/receiver.go", "receiver", ours + "modules/app", "modules do not import one another"},
		{"modules/manageapi/rest/route.go", "rest", ours + "modules/manageapi", "modules do not import one another"},
		{"modules/console/console.go", "console", ours + "modules/manageapi/rest", "modules do not import one another"},
		{"modules/listener/module.go", "listener", ours + "modules/app", "modules do not import one another"},
		{"internal/gateway/runtime.go", "gateway", ours + "modules/app", "internal/gateway must not import modules"},
		{"internal/store/store.go", "store", ours + "internal/gateway", "internal must not import internal/gateway"},
		{"workflows/export/workflow.go", "export", ours + "internal/gateway", "workflows must not import internal/gateway"},
		{"workflows/export/workflow.go", "export", ours + "workflows/dispatch", "through its rooms in order"},
		{"workflows/dispatch/lost.go", "dispatch", ours + "workflows/rounds", "through its rooms in order"},
		{"internal/model/export.go", "hiring", ours + "internal/webhook", "internal/model imports nothing of ours"},
		{"internal/api/exports.go", "api", ours + "internal/webhook", "internal/api imports only internal/model"},
		{"internal/store/store.go", "store", ours + "workflows/export", "internal must not import workflows"},
		{"internal/store/store.go", "store", ours + "modules/app", "internal must not import modules"},
		{"internal/store/store.go", "store", ours + "cmd/hiregate/flags", "internal must not import cmd"},
		{"modules/manageapi/api.go", "manage", ours + "internal/cli/admin", "only cmd imports the command line"},
		{"internal/webhook/send.go", "webhook", ours + "internal/cli/terminal", "only cmd imports the command line"},
		{"workflows/export/workflow.go", "export", ours + "modules/app", "workflows must not import modules"},
		{"schemas/guard.go", "schemas", ours + "modules", "schemas must not import modules"},
		{"schemas/guard.go", "schemas", ours + "workflows", "schemas must not import workflows"},
		{"pkg/x/x.go", "x", ours + "internal/model", "pkg is no layer"},
	} {
		root := t.TempDir()
		name := filepath.Join(root, filepath.FromSlash(tt.file))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, fmt.Appendf(nil, "package %s\n\nimport _ %q\n", tt.pkg, tt.imported), 0o644))
		got, _, err := check(root)
		require.NoError(t, err)
		if tt.want == "" {
			require.Empty(t, got, tt.file)
			continue
		}
		require.Len(t, got, 1, "%s importing %s", tt.file, tt.imported)
		require.Contains(t, got[0], tt.file+" imports "+tt.imported+": ")
		require.Contains(t, got[0], tt.want)
	}
}

func TestOtherModulesAreLeftAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                   "module github.com/hiregate/hiregate\n",
		"internal/x/x.go":          "package x\n",
		"internal/nested/go.mod":   "module example.com/nested\n",
		"internal/nested/x.go":     "package nested\n\nimport _ \"" + ours + "modules\"\n",
		"internal/nested/sub/y.go": "package sub\n\nimport _ \"" + ours + "modules\"\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
	violations, files, err := check(root)
	require.NoError(t, err)
	require.Empty(t, violations)
	require.Equal(t, 1, files)
}
