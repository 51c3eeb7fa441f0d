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

// The compose files, each with its example of what it has to be told, and the Caddyfile of its gateway.
var composeFiles = map[string]struct{ example, caddyfile string }{
	"../docker-compose.yml": {"env.example", "service.Caddyfile"},
	"partner-compose.yml":   {"partner.env.example", "five-clients.Caddyfile"},
}

const serviceFile = "../docker-compose.yml"

type composition struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Build       any
		Environment map[string]string
		Volumes     []string
		Ports       []string
		Restart     string
		Healthcheck struct{ Test []string }
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	}
	Volumes map[string]any
}

func compose(t *testing.T, file string) (c composition) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal(read(t, file), &c))
	require.Greater(t, len(c.Services), 6)
	return c
}

// eachCompose runs a test for each compose file.
func eachCompose(t *testing.T, test func(t *testing.T, file string)) {
	for file := range composeFiles {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			test(t, file)
		})
	}
}

var (
	example   = regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)
	mandatory = regexp.MustCompile(`\$\{([A-Z_]+):\?([^}]*)\}`)
)

// docker-compose takes the file once everything in env.example has a value, and names what is missing otherwise.
func TestComposeIsValidOnceEverythingIsSet(t *testing.T) {
	t.Parallel()
	eachCompose(t, validOnceEverythingIsSet)
}

func validOnceEverythingIsSet(t *testing.T, file string) {
	var names []string
	for _, found := range example.FindAllStringSubmatch(string(read(t, composeFiles[file].example)), -1) {
		require.Empty(t, found[2], "%s has a default", found[1])
		names = append(names, found[1])
	}
	require.Greater(t, len(names), 4)
	asked := map[string]bool{}
	for _, found := range mandatory.FindAllStringSubmatch(string(read(t, file)), -1) {
		asked[found[1]] = true
		require.Contains(t, found[2], "say ", "nobody says what to set for %s", found[1])
	}
	require.Len(t, asked, len(names), "the example does not list what the compose file asks for")

	out, err := config(t, file, names)
	require.NoError(t, err, out)
	for _, name := range names {
		require.True(t, asked[name], name)
	}
	out, err = config(t, file, names[1:])
	require.Error(t, err, "%s is not needed", names[0])
	require.Contains(t, out, names[0])
	require.Contains(t, out, "say ", "nobody says what to set")
}

// config runs docker-compose config with these variables set.
func config(t *testing.T, file string, names []string) (out string, err error) {
	t.Helper()
	env := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(env, []byte(strings.Join(names, "=dummy\n")+"=dummy\n"), 0o600))
	cmd := exec.Command(program(t, "docker-compose"), "--file", file, "--env-file", env, "config", "--quiet")
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
	eachCompose(t, services)
}

func services(t *testing.T, file string) {
	c := compose(t, file)
	used, oneShot := map[string]bool{}, map[string]bool{}
	for name, s := range c.Services {
		if s.Build == nil {
			require.Regexp(t, pinned, s.Image, name)
		}
		if s.Restart == "on-failure" { // it ends
			oneShot[name] = true
		} else {
			require.NotEmpty(t, s.Healthcheck.Test, "%s has no health check", name)
		}
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
			if strings.HasPrefix(source, ".") {
				if source != "./secrets" { // which whoever runs it makes
					_, err := os.Stat(filepath.Join(filepath.Dir(file), source))
					require.NoError(t, err)
				}
				require.True(t, strings.HasSuffix(volume, ":ro"), volume)
			} else {
				require.Contains(t, c.Volumes, source)
				used[source] = true
			}
		}
	}
	require.Len(t, used, len(c.Volumes), "a volume is not used")
	for name, s := range c.Services {
		for other, dependency := range s.DependsOn {
			require.Equal(t, oneShot[other], dependency.Condition == "service_completed_successfully", "%s on %s", name, other)
		}
	}
	require.Equal(t, "service_completed_successfully", c.Services["temporal"].DependsOn["temporal-schema"].Condition)
	require.NotEmpty(t, c.Services["gateway"].Ports)
}

// A reload sees what an editor made of the Caddyfile: editors put another file in its place, which is not there where
// the former one was mounted and not its folder.
func TestGatewayCaddyfile(t *testing.T) {
	t.Parallel()
	eachCompose(t, gatewayCaddyfile)
}

func gatewayCaddyfile(t *testing.T, file string) {
	gateway := compose(t, file).Services["gateway"]
	at := slices.Index(gateway.Command, "--config")
	require.NotEqual(t, -1, at, "the gateway is not told where its Caddyfile is")
	folder, name := path.Split(gateway.Command[at+1])
	require.Equal(t, composeFiles[file].caddyfile, name)
	mounted := slices.ContainsFunc(gateway.Volumes, func(v string) bool {
		return strings.HasSuffix(v, "./caddyfile:"+path.Clean(folder)+":ro")
	})
	require.True(t, mounted, gateway.Volumes)
}

// Caddy tells browsers to come by HTTP/3 next time, which is UDP.
func TestHTTP3(t *testing.T) {
	t.Parallel()
	eachCompose(t, func(t *testing.T, file string) {
		require.Subset(t, compose(t, file).Services["gateway"].Ports, []string{"443:443", "443:443/udp"})
	})
}

// What the gateway is told, its Caddyfile asks for, and the other way round.
func TestGatewayVariables(t *testing.T) {
	t.Parallel()
	eachCompose(t, gatewayVariables)
}

func gatewayVariables(t *testing.T, file string) {
	caddyfile := string(read(t, filepath.Join("../caddyfile", composeFiles[file].caddyfile)))
	told := compose(t, file).Services["gateway"].Environment
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

// What both compose files run is run in the same way.
func TestBothComposeFilesAgree(t *testing.T) {
	t.Parallel()
	service, partner := compose(t, serviceFile).Services, compose(t, "partner-compose.yml").Services
	for name, s := range partner {
		require.Equal(t, service[name].Image, s.Image, name)
		require.Equal(t, service[name].Healthcheck, s.Healthcheck, name)
		if name != "gateway" {
			require.Equal(t, service[name].Command, s.Command, name)
			require.Equal(t, service[name].Ports, s.Ports, name)
		}
	}
	require.Equal(t, "hiregate", partner["temporal-namespace"].Environment["TEMPORAL_NAMESPACE"])
	require.Contains(t, string(read(t, "../caddyfile/five-clients.Caddyfile")), "namespace hiregate\n")
}
