package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// target is a system that hiregate is built for, in Go's names.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// choose returns the target of that name, or all for an empty one.
func choose(name string) ([]target, error) {
	if name == "" {
		return targets, nil
	}
	var names []string
	for _, t := range targets {
		if t.String() == name {
			return []target{t}, nil
		}
		names = append(names, t.String())
	}
	return nil, fmt.Errorf("there is no target %s: choose one of %s", name, strings.Join(names, ", "))
}

// release is a commit that is built, with the values that all its artifacts share.
type release struct {
	source  string    // the clone
	version string    // without v, such as 0.1.0
	time    time.Time // of the commit: the time of everything in the artifacts
	// documents lie beside the programs. They are collected once, before the first target.
	documents documents
}

func newRelease(ctx context.Context, source string) (*release, error) {
	version, err := version(ctx, source)
	if err != nil {
		return nil, err
	}
	seconds, err := git(ctx, source, "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	committed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	return &release{source: source, version: version, time: time.Unix(committed, 0).UTC()}, nil
}

var heading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)\b`)

// version returns the commit's tag without its v, or, where it has none, the newest version in CHANGELOG.md.
func version(ctx context.Context, source string) (string, error) {
	if tag, err := git(ctx, source, "describe", "--tags", "--exact-match"); err == nil {
		return strings.TrimPrefix(tag, "v"), nil
	}
	changes, err := os.ReadFile(filepath.Join(source, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	newest := heading.FindSubmatch(changes)
	if newest == nil {
		return "", fmt.Errorf("the commit has no tag, and CHANGELOG.md no heading with a version, such as %q", "## 0.1.0")
	}
	return string(newest[1]), nil
}

func git(ctx context.Context, source string, args ...string) (string, error) {
	out, err := output(exec.CommandContext(ctx, "git", append([]string{"-C", source}, args...)...))
	return strings.TrimSpace(out), err
}

// output returns what a command writes to its standard output; its error has what it wrote to the other.
func output(cmd *exec.Cmd) (string, error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return string(out), nil
}

// programs are the compiled programs of a target.
type programs struct {
	target
	gateway  string // path
	temporal string // path; empty on Windows, where hiregate dev, which starts it, does not run
}

// all returns the paths of the programs.
func (p programs) all() []string {
	if p.temporal == "" {
		return []string{p.gateway}
	}
	return []string{p.gateway, p.temporal}
}

// compile builds the programs into folder. They are the same wherever the clone lies (-trimpath).
func (r *release) compile(ctx context.Context, t target, folder string) (programs, error) {
	p := programs{target: t, gateway: filepath.Join(folder, "hiregate")}
	if t.os == "windows" {
		p.gateway += ".exe"
	} else {
		p.temporal = filepath.Join(folder, "temporal-dev")
	}
	err := r.build(ctx, t, "cmd/hiregate", p.gateway, "github.com/hiregate/hiregate/internal/version.Version")
	if err != nil || p.temporal == "" {
		return p, err
	}
	return p, r.build(ctx, t, "cmd/temporal-dev", p.temporal, "main.version")
}

func (r *release) build(ctx context.Context, t target, folder, out, variable string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+variable+"="+r.version,
		"-o", out, ".")
	cmd.Dir = filepath.Join(r.source, filepath.FromSlash(folder))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOWORK=off", "GOFLAGS=")
	_, err := output(cmd)
	return err
}
