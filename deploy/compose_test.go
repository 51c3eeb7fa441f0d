package deploy

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const composeFile = "../docker-compose.yml"

type composition struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Build       any
		Environment map[string]string
		Volumes     []string
		Ports       []string
		Healthcheck struct{ Test []string }
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	}
	Volumes map[string]any
}

func compose(t *testing.T) (c composition) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal(read(t, composeFile), &c))
	require.Greater(t, len(c.Services), 6)
	return c
}

var (
	example   = regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)
	mandatory = regexp.MustCompile(`\$\{([A-Z_]+):\?`)
)

// docker-compose takes the file once everything in env.example has a value, and names what is missing otherwise.
func TestComposeIsValidOnceEverythingIsSet(t *testing.T) {
	t.Parallel()
	var names []string
	for _, found := range example.FindAllStringSubmatch(string(read(t, "env.example")), -1) {
		require.Empty(t, found[2], "%s has a default", found[1])
		names = append(names, found[1])
	}
	require.Greater(t, len(names), 4)
	asked := map[string]bool{}
	for _, found := range mandatory.FindAllStringSubmatch(string(read(t, composeFile)), -1) {
		asked[found[1]] = true
	}
	require.Len(t, asked, len(names), "env.example does not list what docker-compose.yml asks for")

	out, err := config(t, names)
	require.NoError(t, err, out)
	for n, name := range names {
		require.True(t, asked[name], name)
		out, err = config(t, append(append([]string{}, names[:n]...), names[n+1:]...))
		require.Error(t, err, "%s is not needed", name)
		require.Contains(t, out, name)
		require.Contains(t, out, "say ", "nobody says what to set")
	}
}

// config runs docker-compose config with these variables set.
func config(t *testing.T, names []string) (out string, err error) {
	t.Helper()
	env := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(env, []byte(strings.Join(names, "=dummy\n")+"=dummy\n"), 0o600))
	cmd := exec.Command(program(t, "docker-compose"), "--file", composeFile, "--env-file", env, "config", "--quiet")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	raw, err := cmd.CombinedOutput()
	return string(raw), err
}

var (
	pinned  = regexp.MustCompile(`^[a-z/-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)
	secrets = regexp.MustCompile(`PASSWORD|SECRET|PWD|KEY`)
)

func TestServices(t *testing.T) {
	t.Parallel()
	c := compose(t)
	used := map[string]bool{}
	for name, s := range c.Services {
		if s.Build == nil {
			require.Regexp(t, pinned, s.Image, name)
		}
		require.NotEmpty(t, s.Healthcheck.Test, "%s has no health check", name)
		for other, dependency := range s.DependsOn {
			require.Contains(t, c.Services, other)
			require.NotEmpty(t, dependency.Condition, "%s on %s", name, other)
		}
		for _, port := range s.Ports {
			if name != "gateway" {
				require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s is published beyond this machine: %s", name, port)
			}
		}
		for variable, value := range s.Environment {
			if secrets.MatchString(variable) {
				require.Regexp(t, `^\$\{[A-Z_]+:\?[^}]+\}$`, value, "%s of %s has a value", variable, name)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, "./") {
				_, err := os.Stat(filepath.Join("..", source))
				require.NoError(t, err)
				require.True(t, strings.HasSuffix(volume, ":ro"), volume)
			} else {
				require.Contains(t, c.Volumes, source)
				used[source] = true
			}
		}
	}
	require.Len(t, used, len(c.Volumes), "a volume is not used")
	require.NotEmpty(t, c.Services["gateway"].Ports)
}

// A reload sees what an editor made of the Caddyfile: editors put another file in its place, which is not there where
// the former one was mounted and not its folder.
func TestGatewayCaddyfile(t *testing.T) {
	t.Parallel()
	gateway := compose(t).Services["gateway"]
	at := slices.Index(gateway.Command, "--config")
	require.NotEqual(t, -1, at, "the gateway is not told where its Caddyfile is")
	folder, file := path.Split(gateway.Command[at+1])
	require.Contains(t, gateway.Volumes, "./caddyfile:"+path.Clean(folder)+":ro")
	require.FileExists(t, filepath.Join("..", "caddyfile", file))
}

// Caddy tells browsers to come by HTTP/3 next time, which is UDP.
func TestHTTP3(t *testing.T) {
	t.Parallel()
	require.Subset(t, compose(t).Services["gateway"].Ports, []string{"443:443", "443:443/udp"})
}

// What the gateway is told, its Caddyfile asks for, and the other way round.
func TestGatewayVariables(t *testing.T) {
	t.Parallel()
	caddyfile := string(read(t, "../caddyfile/service.Caddyfile"))
	told := compose(t).Services["gateway"].Environment
	for name := range told {
		require.Regexp(t, `\{(\$|env\.)`+name+`[:}]`, caddyfile)
	}
	for _, found := range regexp.MustCompile(`\{env\.(\w+)\}`).FindAllStringSubmatch(caddyfile, -1) {
		if found[1] != "NAME" { // of the comment
			require.Contains(t, told, found[1])
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, "run make deps: this test needs %s", name)
	return path
}
