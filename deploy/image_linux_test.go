package deploy

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/rand"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const patience = time.Minute

// What the image runs with in the test: the zone of its clock shows in the log, and a port below 1024 needs no root.
const inside = `{
	auto_https off
	log {
		format json {
			time_local
			time_format 2006-01-02T15:04:05Z07:00
		}
	}
	hiregate {
		public_url https://localhost
		database sqlite:///var/lib/hiregate/hiregate.db
		documents file:///var/lib/hiregate/documents
		temporal 127.0.0.1:1
	}
}
http://:9180 {
	handle /healthz* {
		healthz
	}
}
http://:80 {
	respond 404
}
`

// TestImage builds the last stage of the Dockerfile around the compiled binary, and runs it as docker-compose.yml does.
func TestImage(t *testing.T) {
	t.Parallel()
	run, _ := engine(t)
	name := "hiregate-test-" + strings.ToLower(rand.Text())
	run("build", "--quiet", "--tag", name, lastStage(t))
	t.Cleanup(func() { run("rmi", "--force", name) })
	caddyfile := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(caddyfile, []byte(inside), 0o644))
	run("create", "--name", name, "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
		"--env=TZ=Asia/Tokyo", "--health-interval=1s", "--volume="+caddyfile+":/etc/caddy/Caddyfile:ro", name)
	t.Cleanup(func() { run("rm", "--force", "--volumes", name) })

	require.Equal(t, []string{"usr/bin/hiregate"}, contents(t, run("export", name)),
		"there is more in the image than the binary")
	for range 2 { // the second time with what the first left in the volumes
		run("start", name)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.Equal(c, "healthy", strings.TrimSpace(run("inspect", "--format={{.State.Health.Status}}", name)))
		}, patience, 200*time.Millisecond, "the gateway is not healthy")
		require.Contains(t, run("exec", name, "/usr/bin/hiregate", "healthcheck"),
			"The gateway accepts exports: Temporal does not answer")

		status := string(read(t, "/proc/"+strings.TrimSpace(run("inspect", "--format={{.State.Pid}}", name))+"/status"))
		require.Regexp(t, `(?m)^Uid:\t65532\t65532\t65532\t65532$`, status)
		require.Regexp(t, `(?m)^Gid:\t65532\t65532\t65532\t65532$`, status)
		require.Regexp(t, `(?m)^CapEff:\t0+$`, status)

		run("stop", "--time=30", name)
		require.Equal(t, "0", strings.TrimSpace(run("inspect", "--format={{.State.ExitCode}}", name)))
	}
	require.Regexp(t, `T\d\d:\d\d:\d\d\+09:00"`, run("logs", name), "the time zone is not known")
}

// The binary stands alone: no loader, no libraries, and the certificates of CAs in it. cmd/hiregate tests that they
// serve.
func TestBinaryStandsAlone(t *testing.T) {
	t.Parallel()
	program, err := elf.Open(binary(t))
	require.NoError(t, err)
	defer program.Close()
	for _, segment := range program.Progs {
		require.NotEqual(t, elf.PT_INTERP, segment.Type, "it is linked dynamically")
	}
	info, err := buildinfo.ReadFile(binary(t))
	require.NoError(t, err)
	var modules []string
	for _, module := range info.Deps {
		modules = append(modules, module.Path)
	}
	require.Contains(t, modules, "golang.org/x/crypto/x509roots/fallback")
	require.NotContains(t, modules, "go.temporal.io/server", "the Temporal server is in it")
}

// The image is built with the Go version that go.mod asks for, or a later patch of it.
func TestBuildStage(t *testing.T) {
	t.Parallel()
	asked := regexp.MustCompile(`(?m)^go (\d+\.\d+)\.(\d+)$`).FindSubmatch(read(t, "../go.mod"))
	require.NotNil(t, asked)
	taken := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+)\.(\d+)-\w+ AS build$`).FindSubmatch(read(t, "../Dockerfile"))
	require.NotNil(t, taken, "the build stage's Go is not pinned")
	require.Equal(t, string(asked[1]), string(taken[1]))
	least, err := strconv.Atoi(string(asked[2]))
	require.NoError(t, err)
	patch, err := strconv.Atoi(string(taken[2]))
	require.NoError(t, err)
	require.GreaterOrEqual(t, patch, least)
}

// lastStage is a folder with the last stage of the Dockerfile, and what the stage before it would have left for it:
// images can't be pulled everywhere, and make build has compiled the same binary.
func lastStage(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build, last, ok := strings.Cut(string(read(t, "../Dockerfile")), "\nFROM scratch\n")
	require.True(t, ok, "the last stage is not from scratch")
	require.NotContains(t, last, "FROM ")
	last = strings.NewReplacer("--from=build ", "", "/src/", "").Replace(last)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte("FROM scratch\n"+last), 0o600))

	require.Contains(t, build, " out/usr/bin/hiregate cmd/hiregate ")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "out", "usr", "bin"), 0o755))
	from, err := os.Open(binary(t))
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(folder, "out", "usr", "bin", "hiregate"), os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, errors.Join(err, to.Close()))

	volumes := regexp.MustCompile(`(?m)^RUN (install -d .*)$`).FindStringSubmatch(build)
	require.NotNil(t, volumes)
	cmd := exec.Command("sh", "-c", volumes[1])
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return folder
}

// binary is the path of the program, from HIREGATE_BIN, else bin/hiregate.
func binary(t *testing.T) string {
	t.Helper()
	path := cmp.Or(os.Getenv("HIREGATE_BIN"), "../bin/hiregate")
	require.FileExists(t, path, "run make build first, or name it in HIREGATE_BIN")
	return path
}

// contents lists the files in a tar archive that are not empty. Docker adds empty ones.
func contents(t *testing.T, archive string) (files []string) {
	t.Helper()
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg && header.Size > 0 {
			files = append(files, header.Name)
		}
	}
}

// docker runs a docker command that must succeed, and returns what it wrote.
type docker func(args ...string) string

func at(t *testing.T, host string) docker {
	path := program(t, "docker")
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command(path, args...)
		cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
		if host != "" {
			cmd.Env = append(cmd.Env, "DOCKER_HOST="+host)
		}
		var out, errors bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errors
		require.NoError(t, cmd.Run(), "docker %s: %s%s", args, tail(&out), tail(&errors))
		if args[0] == "logs" {
			return out.String() + errors.String()
		}
		return out.String()
	}
}

func tail(b *bytes.Buffer) string { return string(b.Bytes()[max(0, b.Len()-2000):]) }
