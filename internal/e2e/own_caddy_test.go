package e2e

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Caddy that somebody builds with our modules, as xcaddy does, has what the gateway has and reads its Caddyfile. It
// is built of what is in the caches, with the gateway's settings, so that no more than the main package is compiled.
func TestOwnCaddyWithOurModules(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	folder := t.TempDir()
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(content)
	}
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	// Our requirements stand for what the network would be asked for.
	const module = "module github.com/hiregate/hiregate\n"
	required := read("go.mod")
	require.True(t, strings.HasPrefix(required, module))
	write("go.mod", "module caddy\n"+strings.TrimPrefix(required, module)+
		"\nrequire github.com/hiregate/hiregate v0.0.0\nreplace github.com/hiregate/hiregate => "+root+"\n")
	write("go.sum", read("go.sum"))
	write("main.go", `package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/modules/standard"
	_ "github.com/hiregate/hiregate/modules"
)

func main() { caddycmd.Main() }
`)
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", "caddy")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	gateway, err := buildinfo.ReadFile(hiregate(t))
	require.NoError(t, err)
	for _, setting := range gateway.Settings {
		switch setting.Key {
		case "-tags", "-trimpath":
			build.Args = append(build.Args, setting.Key+"="+setting.Value)
		case "CGO_ENABLED", "CGO_CFLAGS":
			build.Env = append(build.Env, setting.Key+"="+setting.Value)
		}
	}
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	for _, args := range [][]string{
		{"list-modules"},
		{"adapt", "--config", filepath.Join(root, "caddyfile", "partner.Caddyfile"), "--adapter", "caddyfile"},
	} {
		want, err := exec.CommandContext(t.Context(), hiregate(t), args...).Output()
		require.NoError(t, err)
		require.Contains(t, string(want), "export_receiver")
		got, err := exec.CommandContext(t.Context(), filepath.Join(folder, "caddy"), args...).Output()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}
