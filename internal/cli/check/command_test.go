package check

import (
	"bytes"
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

var update = flag.Bool("update", false, "write docs/check.md from the table of checks")

// docs/check.md lists what --list shows of a receiver, but for the place in the contract.
func TestPageListsTheChecks(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../../docs/check.md", "<!-- receiver -->\n", "\n<!-- end -->"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("\n| check | level | requirement |\n|---|---|---|\n")
	for _, c := range listed(receiverChecks) {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", c.ID, c.Level, c.Requirement)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + table.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run go test ./internal/cli/check -run Page -update")
}

// The first page says how many checks the sample partner passes: all but that of a rotation (TestSoundReceiversPassTheirCheck).
func TestFirstPageCountsTheChecks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	require.Contains(t, string(text), fmt.Sprintf("%d of %d checks passed; failed: 0 must, 0 should; skipped: 1.", len(receiverChecks)-1,
		len(receiverChecks)))
}

// proves demands that a check failed, and says what came, on a target with its fault. Of the other musts those in also failed, and
// the rest has one of the allowed verdicts.
func proves(t *testing.T, results map[string]Result, check string, also []string, allowed ...string) {
	t.Helper()
	require.Contains(t, results, check)
	for id, r := range results {
		switch {
		case id == check:
			require.Equal(t, failed, r.Verdict, "%+v", r)
			require.NotEmpty(t, r.Sent)
			require.NotEmpty(t, r.Got)
		case slices.Contains(also, id):
			require.Equal(t, failed, r.Verdict, "%s: %s", check, id)
		case r.Level == Must:
			require.Contains(t, allowed, r.Verdict, "%+v", r)
		}
	}
	for _, id := range also {
		require.Contains(t, results, id)
	}
}

// hiregate runs `hiregate check` with arguments.
func hiregate(args ...string) (out string, code int) {
	return hiregateIn(context.Background(), args...)
}

func hiregateIn(ctx context.Context, args ...string) (out string, code int) {
	cmd := &cobra.Command{Use: "hiregate", SilenceErrors: true}
	cmd.AddCommand(Command())
	var said bytes.Buffer
	cmd.SetOut(&said)
	cmd.SetErr(&said)
	cmd.SetArgs(append([]string{"check"}, args...))
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(&said, err)
	}
	return said.String(), terminal.ExitCode(err)
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	sound, faulty := newApplyAPI(t), newApplyAPI(t)
	faulty.noJob = 404
	secret := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(secret, []byte(password+"\n"), 0o600))
	wrong := filepath.Join(t.TempDir(), "wrong")
	require.NoError(t, os.WriteFile(wrong, []byte("something else"), 0o600))
	serve := func(api *applyAPI) string {
		server := httptest.NewServer(api)
		t.Cleanup(server.Close)
		return server.URL
	}
	soundURL, faultyURL := serve(sound), serve(faulty)
	nothing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nothing.Close)
	nowhere := nothing.URL
	right := []string{"--user", userName, "--password", secret, "--job", jobCode}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"passed":         {append([]string{"apply", soundURL}, right...), 0, "28 of 28 checks passed; failed: 0 must, 0 should; skipped: 0."},
		"failed":         {append([]string{"apply", faultyURL, "--only", "C-1*"}, right...), 1, "C-10: An unknown job is answered with 400"},
		"no such check":  {append([]string{"apply", soundURL, "--only", "X-1"}, right...), 2, "--only X-1 names no check: --list shows them"},
		"no such format": {append([]string{"apply", soundURL, "--format", "yaml"}, right...), 2, "--format yaml is none"},
		"no user":        {[]string{"apply", soundURL}, 2, "who applies?"},
		"no job":         {[]string{"apply", soundURL, "--user", userName, "--password", secret}, 2, "which job?"},
		"no secret":      {[]string{"receiver", soundURL}, 2, "which secret signs?"},
		"nobody listens": {append([]string{"apply", "http://127.0.0.1:1"}, right...), 3, "no connection to 127.0.0.1:1 can be made"},
		"wrong password": {[]string{"apply", soundURL, "--user", userName, "--password", wrong, "--job", jobCode}, 3,
			"the Apply API refuses the user name and the password"},
		"no such job": {[]string{"apply", soundURL, "--user", userName, "--password", secret, "--job", "NONE"}, 3,
			"shows no questions for the job (400 Bad Request"},
		"no such address": {append([]string{"apply", nowhere}, right...), 3, "there is no Apply API at this URL"},
		"no such file":    {[]string{"receiver", soundURL, "--secret", secret + "x"}, 3, "no such file"},
		"another secret":  {[]string{"receiver", soundURL, "--secret", secret, "--only", "B-01"}, 1, "hiregate signature explain"},
		"no report":       {append([]string{"apply", soundURL, "--only", "C-01", "--report", secret + "/x"}, right...), 3, "writing the report"},
		"no documents":    {[]string{"receiver", soundURL, "--secret", secret, "--documents-url", "http://a"}, 2, "--documents-listen"},
		"no address":      {[]string{"sender", "--listen", "8086"}, 2, "--listen takes an IP address with a port"},
		"no way here":     {[]string{"sender", "--listen", "0.0.0.0:0"}, 2, "by which name does the service reach this machine?"},
		"no secret file":  {[]string{"sender", "--secret-file", secret + "x"}, 3, "no such file"},
		"no event":        {[]string{"sender", "--listen", "127.0.0.1:0", "--wait", "1ms"}, 3, "no event came: save an integration with the URL above"},
		"another host": {append([]string{"apply", "https://partner.example.com"}, right...), 2,
			"nothing was sent, because partner.example.com is not this machine: add --yes-send"},
	} {
		out, code := hiregate(c.args...)
		require.Equal(t, c.code, code, "%s: %s", name, out)
		require.Contains(t, out, c.says, name)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	api := newApplyAPI(t)
	api.noJob, api.id = 404, func(_ string, n int) string { return fmt.Sprint(n) }
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	secret, report := filepath.Join(folder, "password"), filepath.Join(folder, "report.xml")
	require.NoError(t, os.WriteFile(secret, []byte(password), 0o600))
	out, code := hiregate("apply", server.URL, "--user", userName, "--password", secret, "--job", jobCode, "--only", "C-09,C-10,C-27",
		"--format", "json", "--report", report)
	require.Equal(t, 1, code, out)
	lines := strings.Split(out, "\n")
	require.Contains(t, lines[1], `"kind":"check","id":"C-10","level":"must"`)
	require.Contains(t, lines[1], `"verdict":"failed"`)
	require.NotContains(t, out, password)

	raw, err := os.ReadFile(report)
	require.NoError(t, err)
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	require.NoError(t, xml.Unmarshal(raw, &suite))
	require.Equal(t, []int{3, 1, 1}, []int{suite.Tests, suite.Failures, suite.Skipped}, "a should that failed breaks no build")
}

// A target can be so slow that the time does not suffice for all checks.
func TestChecksThatWereNotRunAreNamed(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context, _ int) finding { <-ctx.Done(); return finding{} }
	checks := []check[int]{{id: "X-1", run: func(context.Context, int) finding { return finding{} }}, {id: "X-2", run: wait}, {id: "X-3"}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cmd, out := new(cobra.Command), new(strings.Builder)
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	err := play(ctx, cmd, &flags{format: "table"}, checks, 0)
	require.ErrorContains(t, err, "only 1 of 3 checks were run within 5m0s: run the others with --only X-2,X-3")
	require.Equal(t, terminal.ExitUnable, terminal.ExitCode(err))
	require.Contains(t, out.String(), "X-3 was skipped: it was not run, because the time did not suffice")
	require.Contains(t, out.String(), "1 of 3 checks passed")
}
