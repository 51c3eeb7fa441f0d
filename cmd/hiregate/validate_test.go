package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// validated runs hiregate validate on a Caddyfile in a process of its own, piped. It returns the two outputs' lines.
func validated(t *testing.T, text string, flags ...string) (out, said []string, code int) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "partner.conf"), []byte(text), 0o600))
	validate := hiregate(append([]string{"validate", "--config", "partner.conf"}, flags...)...)
	validate.Dir = folder
	validate.Env = append(validate.Environ(), "XDG_DATA_HOME="+folder)
	var stdout, stderr bytes.Buffer
	validate.Stdout, validate.Stderr = &stdout, &stderr
	_ = validate.Run() // the code says how
	lines := func(b *bytes.Buffer) []string { return strings.Split(strings.TrimSpace(b.String()), "\n") }
	return lines(&stdout), lines(&stderr), validate.ProcessState.ExitCode()
}

// The last line says what is wrong, and where, although the file's name says nothing of its format.
func TestValidateEndsWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/wrong/*.caddyfiletest")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 12)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile(path)
			require.NoError(t, err)
			config, want, ok := strings.Cut(string(file), "----------\n")
			require.True(t, ok)
			_, said, code := validated(t, config)
			require.Equal(t, 1, code, "%s", said)
			require.Equal(t, strings.TrimSpace(want), said[len(said)-1])
		})
	}
}

func caddyfile(catchAll string) string {
	return `{
	admin off
	hiregate {
		dev
		public_url https://gate.example.com
		database sqlite:x.db
		documents file:documents
		temporal 127.0.0.1:1
		tenant acme {
			secret s
		}
	}
}
gate.example.com {
	handle /hooks/* {
		export_receiver {
			tenant_from path 1
		}
	}
	handle_path /documents/* {
		documents
	}
	` + catchAll + `
}
`
}

func TestValidateSaysHowManyWarningsLoseExports(t *testing.T) {
	t.Parallel()
	out, _, code := validated(t, caddyfile("handle {\n		respond 404\n	}"))
	require.Zero(t, code)
	require.Equal(t, "Valid configuration", out[len(out)-1])

	losing := caddyfile("")
	out, said, code := validated(t, losing)
	require.Equal(t, 3, code, "%s", said)
	require.Equal(t, "Valid, with 1 warning that loses exports", out[len(out)-1])
	require.Regexp(t, `^partner.conf:\d+: site gate.example.com has no catch-all: .* \(it has \w+\)$`,
		said[len(said)-1])
	out, _, code = validated(t, losing, "--lax")
	require.Zero(t, code)
	require.Equal(t, "Valid, with 1 warning that loses exports", out[len(out)-1])

	two := strings.Replace(losing, "path 1", "path 0", 1)
	out, _, code = validated(t, two)
	require.Equal(t, 3, code)
	require.Equal(t, "Valid, with 2 warnings that lose exports", out[len(out)-1])
	out, _, code = validated(t, losing, "--help")
	require.Zero(t, code)
	require.Contains(t, strings.Join(out, "\n"), "--lax")
}

// Who holds what breaks the schema is told that listed deviations are no reason any more; whoever has decided is not.
func TestValidateSaysThatDeviationsGoOut(t *testing.T) {
	t.Parallel()
	careful := strings.Replace(caddyfile("handle {\n		respond 404\n	}"), "secret s\n",
		"secret s\n			invalid quarantine\n", 1)
	_, said, code := validated(t, careful)
	require.Zero(t, code)
	require.Contains(t, strings.Join(said, "\n"), "write `deviations quarantine` to hold them")
	_, said, _ = validated(t, strings.Replace(careful, "invalid quarantine\n",
		"invalid quarantine\n			deviations accept\n", 1))
	require.NotContains(t, strings.Join(said, "\n"), "deviations quarantine")
}

// Without a list of erasures a backup brings back what was erased. That is said, and is no error.
func TestValidateNoticesThatThereIsNoListOfErasures(t *testing.T) {
	t.Parallel()
	without := caddyfile("handle {\n		respond 404\n	}")
	_, said, code := validated(t, without)
	require.Zero(t, code)
	require.Contains(t, strings.Join(said, "\n"), "what was erased comes back with a backup")
	for path, want := range map[string]string{"/var/lib/other/list": "", "list": "write the absolute path of a file"} {
		_, said, code = validated(t, strings.Replace(without, "tenant ", "erasures "+path+"\n		tenant ", 1))
		require.Equal(t, want == "", code == 0)
		require.Contains(t, strings.Join(said, "\n"), want)
		require.NotContains(t, strings.Join(said, "\n"), "comes back with a backup")
	}
}

// The Link header of an export leads to the candidate's page in the console. Where nobody serves that, it is said, and is no
// error; where nothing is exported from here, there is no such header.
func TestValidateNoticesThatNobodyCanOpenAProfile(t *testing.T) {
	t.Parallel()
	const (
		catchAll = "handle {\n		respond 404\n	}"
		applies  = "handle_path /apply/* {\n		apply_api\n	}\n	"
		key      = "{\n			key MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n"
		signIn   = "handle_path /signin/* {\n		signin " + key + "		}\n	}\n	"
		console  = " {\n		console " + key + "			roles {\n				administrator email ops@example.com\n			}\n		}\n	}\n	"
	)
	for name, test := range map[string]struct {
		config string
		said   bool
	}{
		"no console":            {caddyfile(applies + catchAll), true},
		"a console":             {caddyfile(applies + signIn + "handle_path /console*" + console + catchAll), false},
		"a console elsewhere":   {caddyfile(applies + signIn + "handle_path /desk*" + console + catchAll), true},
		"nothing is exported":   {caddyfile(catchAll), false},
		"profiles of a service": {strings.Replace(caddyfile(applies+catchAll), "tenant ", "candidate_url https://ats.example.com/{candidate}\n		tenant ", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, said, code := validated(t, test.config)
			require.Zero(t, code, "%s", said)
			const notice = "the Link header of exports leads to https://gate.example.com/console/candidates/{tenant}/{candidate}, and " +
				"nobody can sign in there: serve the console at https://gate.example.com/console, or write `candidate_url "
			require.Equal(t, test.said, strings.Contains(strings.Join(said, "\n"), notice), "%s", said)
		})
	}
}

func TestTheFormatIsGuessed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, test := range map[string]struct {
		text    string
		guessed bool
	}{
		"partner.conf": {"{\n	admin off\n}\n", true}, "site": {"gate.example.com {\n}\n", true},
		"config": {"{\n  \"apps\": {}\n}", false}, "config.json": {"{ hiregate", false}, "empty": {"", false},
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(test.text), 0o600))
		for _, args := range [][]string{{"--config", path}, {"-c", path}, {"--config=" + path}} {
			args = append([]string{"hiregate", "run"}, args...)
			want := args
			if test.guessed {
				want = append(append([]string{}, args...), "--adapter", "caddyfile")
			}
			require.Equal(t, want, guessAdapter(args))
			args[1], want[1] = "stop", "stop"
			require.Equal(t, want, guessAdapter(args))
		}
	}
	for _, args := range [][]string{{"hiregate"}, {"hiregate", "fmt", "x"}, {"hiregate", "run"},
		{"hiregate", "run", "--config", filepath.Join(folder, "site"), "--adapter", "other"}} {
		require.Equal(t, args, guessAdapter(args))
	}
}
