package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

// TestRelease builds the commit twice, in different folders, and uses what came out.
func TestRelease(t *testing.T) {
	first, second := build(t, "a"), build(t, "in/another/folder")
	sums, err := os.ReadFile(filepath.Join(first, "checksums.txt"))
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(second, "checksums.txt"))
	require.NoError(t, err)
	require.Equal(t, string(sums), string(again), "the same commit gave other bytes")
	require.Equal(t, 8, strings.Count(string(sums), "\n"))
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		now, err := checksum(filepath.Join(first, name))
		require.NoError(t, err)
		require.Equal(t, now, sum, name)
	}

	t.Run("archive", func(t *testing.T) {
		folder := unpack(t, only(t, first, "*.tar.gz"))
		followLinks(t, folder)
		firstExport(t, folder)
	})
	t.Run("deb", func(t *testing.T) { installs(t, only(t, first, "*.deb")) })
	t.Run("image", func(t *testing.T) { holds(t, only(t, first, "*.image.tar")) })
	t.Run("components", func(t *testing.T) { names(t, only(t, first, "*.tar.gz.cdx.json")) })
	rpm, err := os.ReadFile(only(t, first, "*.rpm"))
	require.NoError(t, err)
	require.Contains(t, string(rpm), buildHost, "the rpm has the name of this machine, and is another one elsewhere")
}

// build clones the commit into a folder of that name and builds it for one target.
func build(t *testing.T, name string) (dist string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), name)
	_, err := output(exec.Command("git", "clone", "--quiet", "--depth=1", "file://"+root(t), source))
	require.NoError(t, err)
	dist = filepath.Join(t.TempDir(), "dist")
	require.NoError(t, run(t.Context(), source, dist, "linux/amd64"))
	return dist
}

func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../..")
	require.NoError(t, err)
	return path
}

// only returns the one file that matches the pattern.
func only(t *testing.T, dist, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dist, pattern))
	require.NoError(t, err)
	require.Len(t, files, 1, pattern)
	return files[0]
}

// unpack returns the folder that the archive holds, below one with a space in its name.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "a place")
	require.NoError(t, os.Mkdir(target, 0o755))
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	plain, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		path := filepath.Join(target, filepath.FromSlash(header.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode())
		require.NoError(t, err)
		_, err = io.Copy(out, r)
		require.NoError(t, errors.Join(err, out.Close()))
	}
	return only(t, target, "hiregate_*_linux_amd64")
}

// firstExport does what the README says of an archive: hiregate dev, and an export to it.
func firstExport(t *testing.T, folder string) {
	ports := make([]string, 5)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		ports[i] = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		require.NoError(t, listener.Close())
	}
	program := filepath.Join(folder, "hiregate")
	cmd := exec.CommandContext(t.Context(), program, "dev", "--http", ports[0], "--temporal", ports[1], "--ui", ports[2], "--partner",
		ports[3], "--admin", ports[4])
	cmd.Dir, cmd.WaitDelay = folder, time.Minute
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "TEMPORAL_DEV_BIN=") // the one beside it
	said, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })
	lines := bufio.NewScanner(said)
	heard := awaitLine(t, lines, "Ctrl-C stops everything")
	go io.Copy(io.Discard, said)
	require.Contains(t, heard, "http://localhost:"+ports[0]+"/console")

	out, err := output(exec.Command(program, "send", "http://localhost:"+ports[0]+"/hooks/acme", "--secret", "acme-signing-secret", "--payload",
		filepath.Join(folder, "testdata", "samples", "export-full.json")))
	require.NoError(t, err, out)
	require.Contains(t, out, "202 Accepted")
	out, err = output(exec.Command(program, "version"))
	require.NoError(t, err)
	require.Contains(t, out, "0.1.0")
}

func awaitLine(t *testing.T, lines *bufio.Scanner, want string) string {
	t.Helper()
	var heard strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&heard, lines.Text())
		if strings.Contains(lines.Text(), want) {
			return heard.String()
		}
	}
	require.Fail(t, "the program ended", heard.String())
	return ""
}

// installs unpacks the package with Debian's own program, and lists what is where.
func installs(t *testing.T, deb string) {
	target := t.TempDir()
	_, err := output(exec.Command("dpkg-deb", "--extract", deb, target))
	require.NoError(t, err)
	for path, mode := range map[string]os.FileMode{"usr/bin/hiregate": 0o755, "etc/hiregate/Caddyfile": 0o644,
		"usr/lib/systemd/system/hiregate.service": 0o644, "usr/lib/sysusers.d/hiregate.conf": 0o644} {
		info, err := os.Stat(filepath.Join(target, path))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}
	about, err := output(exec.Command("dpkg-deb", "--field", deb, "Package", "Version", "Architecture"))
	require.NoError(t, err)
	require.Equal(t, "Package: hiregate\nVersion: 0.1.0\nArchitecture: amd64\n", about)
	control := t.TempDir()
	_, err = output(exec.Command("dpkg-deb", "--control", deb, control))
	require.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join(control, "conffiles"))
	require.NoError(t, err)
	require.Equal(t, "/etc/hiregate/Caddyfile\n", string(kept), "purging the package deletes these")
	_, err = output(exec.Command("sh", "-n", filepath.Join(control, "prerm")))
	require.NoError(t, err)
	keepsSecrets(t, control, target)
	followLinks(t, filepath.Join(target, "usr/share/doc/hiregate"))
}

// keepsSecrets runs the scripts of a package, as dpkg does with another root.
func keepsSecrets(t *testing.T, control, target string) {
	t.Helper()
	script := func(name, argument string) string {
		cmd := exec.Command("sh", filepath.Join(control, name), argument)
		cmd.Env = append(os.Environ(), "DPKG_ROOT="+target)
		out, err := output(cmd)
		require.NoError(t, err)
		return out
	}
	secrets := filepath.Join(target, "etc/hiregate/secrets.env")
	require.Empty(t, script("postinst", "configure"))
	info, err := os.Stat(secrets)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, os.WriteFile(secrets, []byte("HIREGATE_SEAL_KEY=k\n"), 0o600))
	script("postinst", "configure") // an upgrade
	require.Empty(t, script("postrm", "remove"))
	require.Contains(t, script("postrm", "purge"), "/etc/hiregate/secrets.env and /var/lib/hiregate stay.")
	now, err := os.ReadFile(secrets)
	require.NoError(t, err)
	require.Equal(t, "HIREGATE_SEAL_KEY=k\n", string(now))
}

var relativeLink = regexp.MustCompile(`\]\(([^)#\s]+)`)

// followLinks follows each link of the pages below folder: to a file there, or to one of the clone at the project's address.
func followLinks(t *testing.T, folder string) {
	t.Helper()
	followed := 0
	require.NoError(t, filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range relativeLink.FindAllSubmatch(text, -1) {
			target := filepath.Join(filepath.Dir(name), string(m[1]))
			if there, ok := strings.CutPrefix(string(m[1]), homepage+"/blob/v0.1.0/"); ok {
				target = filepath.Join(root(t), there)
			} else if strings.Contains(string(m[1]), "://") {
				continue
			}
			followed++
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", name, m[1])
		}
		return err
	}))
	require.Greater(t, followed, 200)
}

// holds reads the image as docker load would.
func holds(t *testing.T, path string) {
	image, err := tarball.ImageFromPath(path, nil)
	require.NoError(t, err)
	file, err := image.ConfigFile()
	require.NoError(t, err)
	config := file.Config
	require.Equal(t, "65532:65532", config.User)
	require.Equal(t, []string{"/usr/bin/hiregate"}, config.Entrypoint)
	require.Equal(t, []string{"CMD", "/usr/bin/hiregate", "healthcheck"}, config.Healthcheck.Test)
	require.Contains(t, config.Env, "PATH=/usr/bin")
	require.Equal(t, "hiregate", config.Labels["org.opencontainers.image.title"])
	require.Equal(t, "0.1.0", config.Labels["org.opencontainers.image.version"])
	require.Equal(t, homepage, config.Labels["org.opencontainers.image.source"])
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	defer content.Close()
	owners := map[string]int{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		owners[header.Name] = header.Uid
	}
	require.Equal(t, map[string]int{"usr/": 0, "usr/bin/": 0, "usr/bin/hiregate": 0, "var/": 0, "var/lib/": 0, "var/lib/hiregate/": 65532,
		"config/": 65532, "data/": 65532}, owners)
}

// names finds the modules of both programs in the list of components.
func names(t *testing.T, path string) {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var bom cdx.BOM
	require.NoError(t, json.Unmarshal(content, &bom))
	found := map[string]bool{}
	for _, c := range *bom.Components {
		found[c.Name] = true
	}
	for _, name := range []string{"hiregate", "temporal-dev", "std", "github.com/caddyserver/caddy/v2", "go.temporal.io/server"} {
		require.True(t, found[name], name)
	}
}

func TestTargetsAreNamed(t *testing.T) {
	_, err := choose("linux/s390x")
	require.ErrorContains(t, err, "there is no target linux/s390x: choose one of linux/amd64, linux/arm64, ")
}
