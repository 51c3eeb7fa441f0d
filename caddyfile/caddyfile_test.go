package caddyfile_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/require"

	_ "github.com/hiregate/hiregate/modules"
)

var update = flag.Bool("update", false, "rewrite what is expected with what came; look at it before you commit it")

// Every example is adapted to what stands in testdata, formatted, and without warnings.
func TestExamples(t *testing.T) {
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			unset(t, read(t, name))
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, adapt(t, read(t, name)), "", "\t"))
			pretty.WriteByte('\n')
			expected(t, filepath.Join("testdata", strings.TrimSuffix(name, ".Caddyfile")+".json"), pretty.String())
		})
	}
}

// Where there is no IPv6, as in a container, Caddy does not start with a site that is to listen at ::1. What `hiregate
// dev` runs is told where to listen.
func TestExamplesListenWithoutIPv6(t *testing.T) {
	for _, name := range examples(t) {
		unset(t, read(t, name))
		if name == "dev.Caddyfile" {
			t.Setenv("HIREGATE_BIND", "shared/127.0.0.1")
		}
		require.NotRegexp(t, `"(\w+/)?\[[^\]]+\]:\d+"`, string(adapt(t, read(t, name))), name)
	}
}

// Those who issue certificates ask at port 80 or 443. Caddy answers at the first address of default_bind, where it is
// named, and does not know the network shared: it would look for a host of that name, and no certificate would come.
func TestCertificatesComeToExamples(t *testing.T) {
	for _, name := range examples(t) {
		unset(t, read(t, name))
		config := string(adapt(t, read(t, name)))
		require.Contains(t, config, "shared/", name)
		require.NotContains(t, config, `"bind_host":`, name)
	}
}

// Every example is valid, once its secrets are there, and validating it makes no file.
func TestExamplesAreValid(t *testing.T) {
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			config := inside(t, folder, read(t, name))
			before := files(t, folder)
			t.Chdir(folder) // where relative paths would lead
			require.NoError(t, validate(t, adapt(t, config), folder))
			require.Equal(t, before, files(t, folder), "validating left something behind")
		})
	}
}

var position = regexp.MustCompile(`, at Caddyfile:(\d+)`)

const divider = "----------\n"

// Every wrong Caddyfile is refused with an error that names the wrong line, which is marked, and says what to write
// there.
func TestWrong(t *testing.T) {
	unset(t, []byte("{$ACME_SECRET}"))
	for _, path := range wrong(t, "testdata/wrong", 35) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			config, want := split(t, path)
			_, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), nil)
			require.Error(t, err)
			line := 0
			for n, text := range strings.Split(config, "\n") {
				if strings.HasSuffix(text, "# <-- wrong") {
					require.Zero(t, line, "two lines are marked")
					line = n + 1
				}
			}
			require.NotZero(t, line, "the wrong line is not marked")
			named := position.FindStringSubmatch(err.Error()) // the first; blocks around it may follow
			require.NotNil(t, named, err.Error())
			require.Equal(t, strconv.Itoa(line), named[1], err.Error())
			require.NotContains(t, err.Error(), "hunter2", "the error shows a secret")
			refused(t, path, config, want, err)
		})
	}
}

// Nobody has to set one variable after the other to learn of the next.
func TestAllThatIsNotSetIsNamed(t *testing.T) {
	t.Setenv("HIREGATE_TEST_SECRET", "hunter2")
	raw, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(`{
	hiregate {
		public_url https://gate.example.com
		database sqlite:///var/lib/hiregate/hiregate.db
		documents file:///var/lib/hiregate/documents
		tenant acme {
			secret {env.HIREGATE_TEST_NOT_SET} {env.HIREGATE_TEST_SECRET}
			integration hris {
				url https://{env.HIREGATE_TEST_NO_HOST}/inbound/acme
				secret {file./nonexistent/secret}
			}
		}
		tenant globex {
			secret {env.HIREGATE_TEST_NOT_SET}
		}
	}
}
gate.example.com {
	header X-Site {env.HIREGATE_TEST_ALSO_NOT_SET}
	handle_path /signin/* {
		signin {
			key {env.HIREGATE_TEST_SIGNIN_KEY}
			upstream_oidc https://login.example.com {
				client_id hiregate
				client_secret {env.HIREGATE_TEST_CLIENT_SECRET}
			}
		}
	}
}
`), map[string]any{"filename": "etc/partner.Caddyfile"})
	require.NoError(t, err)
	err = validate(t, raw, t.TempDir())
	require.ErrorContains(t, err, "placeholders without a value: {env.HIREGATE_TEST_NOT_SET} at "+
		"etc/partner.Caddyfile:7, {env.HIREGATE_TEST_NO_HOST} at etc/partner.Caddyfile:9, "+
		"{file./nonexistent/secret} at etc/partner.Caddyfile:10, {env.HIREGATE_TEST_NOT_SET} at "+
		"etc/partner.Caddyfile:14, {env.HIREGATE_TEST_SIGNIN_KEY} at etc/partner.Caddyfile:22, "+
		"{env.HIREGATE_TEST_CLIENT_SECRET} at etc/partner.Caddyfile:25; set the variable, or write the file, of each "+
		"before the gateway starts")
	require.NotContains(t, err.Error(), "hunter2", "the error shows a secret")

	// The same as JSON, which hiregate reload sends, has no lines, and those of a file that somebody read before are not
	// taken for its own.
	err = validate(t, raw, t.TempDir())
	require.ErrorContains(t, err, "tenant acme: the secret {env.HIREGATE_TEST_NOT_SET} has no value: set it "+
		"before the gateway starts")
}

// What only shows when handlers look for the gateway, or when what a placeholder stands for is checked, has no line
// number.
func TestWrongWhenValidated(t *testing.T) {
	t.Setenv("HIREGATE_TEST_SECRET", "hunter2")
	t.Setenv("HIREGATE_TEST_URL", "https://hr.acme.example/")
	t.Setenv("HIREGATE_TEST_NAME", "temporal")
	unset(t, []byte("{$HIREGATE_TEST_NOT_SET}"))
	for _, path := range wrong(t, "testdata/wrong/validate", 9) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			config, want := split(t, path)
			raw, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), nil)
			require.NoError(t, err)
			err = validate(t, raw, t.TempDir())
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2", "the error shows a secret")
			refused(t, path, config, want, err)
		})
	}
}

func refused(t *testing.T, path, config, want string, err error) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(config+divider+err.Error()+"\n"), 0o644))
		return
	}
	require.Equal(t, strings.TrimSuffix(want, "\n"), err.Error())
}

func expected(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	require.Equal(t, string(read(t, path)), got, "if that is as it should be: go test ./caddyfile -update")
}

func examples(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.Caddyfile")
	require.NoError(t, err)
	require.Contains(t, names, "dev.Caddyfile")
	require.Contains(t, names, "partner.Caddyfile")
	return names
}

func wrong(t *testing.T, folder string, atLeast int) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.caddyfiletest"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), atLeast)
	return paths
}

func split(t *testing.T, path string) (config, want string) {
	t.Helper()
	config, want, ok := strings.Cut(string(read(t, path)), divider)
	require.True(t, ok, "%s has no line of ten dashes", path)
	return config, want
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

func adapt(t *testing.T, config []byte) []byte {
	t.Helper()
	raw, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(config, nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	return raw
}

// validate does what `hiregate validate` does, with Caddy's own storage in a folder.
func validate(t *testing.T, raw []byte, folder string) error {
	t.Helper()
	var config caddy.Config
	require.NoError(t, caddy.StrictUnmarshalJSON(raw, &config))
	storage, err := json.Marshal(map[string]string{"module": "file_system", "root": filepath.Join(folder, "caddy")})
	require.NoError(t, err)
	config.StorageRaw = storage
	return caddy.Validate(&config)
}

var (
	variable    = regexp.MustCompile(`\{\$(\w+)`)
	environment = regexp.MustCompile(`\{env\.(\w+)\}`)
	comment     = regexp.MustCompile(`(?m)^\s*#.*\n`)
	secretFile  = regexp.MustCompile(`\{file\.([^}]+)\}`)
)

// unset takes the variables that a Caddyfile puts in as it is read out of the environment.
func unset(t *testing.T, config []byte) {
	t.Helper()
	for _, name := range variable.FindAllSubmatch(config, -1) {
		t.Setenv(string(name[1]), "") // puts back what was
		require.NoError(t, os.Unsetenv(string(name[1])))
	}
}

// inside moves everything that an example keeps on the disk into a folder, and sets its secrets.
func inside(t *testing.T, folder string, config []byte) []byte {
	t.Helper()
	unset(t, config)
	t.Setenv("HIREGATE_DIR", filepath.Join(folder, "data"))
	text := strings.NewReplacer("/var/lib/hiregate", filepath.Join(folder, "data"), "/run/secrets",
		filepath.Join(folder, "secrets")).Replace(string(config))
	text = comment.ReplaceAllString(text, "")
	for _, name := range environment.FindAllStringSubmatch(text, -1) {
		t.Setenv(name[1], "the secret of "+name[1])
	}
	t.Setenv("HIREGATE_SEAL_KEY", "the secret that secrets are sealed with")
	t.Setenv("HIREGATE_DATABASE", "sqlite://"+filepath.Join(folder, "data", "hiregate.db"))
	t.Setenv("HIREGATE_TEMPORAL", "127.0.0.1:1") // one that runs here may lack the namespace, and is none of these tests'
	t.Setenv("HIREGATE_TEMPORAL_PORT", "1")
	t.Setenv("HIREGATE_CANDIDATE_URL", "https://recruiting.example.com/candidates/{candidate}")
	for _, path := range secretFile.FindAllStringSubmatch(text, -1) {
		require.Contains(t, path[1], folder)
		require.NoError(t, os.MkdirAll(filepath.Dir(path[1]), 0o700))
		content := "the secret of " + filepath.Base(path[1])
		if strings.HasSuffix(path[1], "seal-key") {
			content = "the secret that secrets are sealed with"
		}
		require.NoError(t, os.WriteFile(path[1], []byte(content+"\n"), 0o600))
	}
	return []byte(text)
}

// files lists everything in a folder.
func files(t *testing.T, folder string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}
