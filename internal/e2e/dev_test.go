package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	samples "github.com/hiregate/hiregate/internal/sample"
)

// devPorts are the ports of a `hiregate dev`.
type devPorts struct{ http, temporal, ui, partner, admin int }

func newDevPorts(t *testing.T) devPorts {
	t.Helper()
	p := freePorts(t, 5)
	return devPorts{p[0], p[1], p[2], p[3], p[4]}
}

func (p devPorts) all() []int { return []int{p.http, p.temporal, p.ui, p.partner, p.admin} }

// url is an address of the gateway, as people type it.
func (p devPorts) url(path string) string { return fmt.Sprintf("http://localhost:%d%s", p.http, path) }

// dev starts `hiregate dev` in the folder of the data.
func dev(t *testing.T, dir string, p devPorts, args ...string) *process {
	t.Helper()
	return start(t, []string{"TEMPORAL_DEV_BIN=" + temporalDev(t)}, hiregate(t), append([]string{"dev", "--dir", dir,
		flag("http", p.http), flag("temporal", p.temporal), flag("ui", p.ui), flag("partner", p.partner),
		flag("admin", p.admin)}, args...)...)
}

const devReady = "^Ctrl-C stops everything"

var uuidLine = regexp.MustCompile(`(?m)^ +uuid +(\S+)$`)

func TestDevFromStartToStop(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with a space")
	ports := newDevPorts(t)
	first := dev(t, dir, ports)
	first.line(devReady)
	for _, want := range []string{
		`^Everything answers after \d\S+s\. Everybody's password is: correct horse$`,
		`^  console +` + ports.url("/console") + `$`,
		`^    ops@example\.com +administrator$`,
		`^    recruiter@example\.com +recruiter of initech$`,
		`^    viewer@example\.com +viewer of acme$`,
		fmt.Sprintf(`^  sample partner +http://localhost:%d$`, ports.partner),
		fmt.Sprintf(`^  Temporal's UI +http://localhost:%d$`, ports.ui),
		`^  \S+ send( \\\n   )? ` + ports.url("/hooks/acme") + `( \\\n   )? --secret acme-signing-secret$`,
		fmt.Sprintf(`^For commands such as hiregate status: export HIREGATE_ADMIN=localhost:%d$`, ports.admin),
		`^The gateway's log is ` + regexp.QuoteMeta(dir) + `/gateway\.log; its warnings are here, too\.$`,
	} {
		first.line(want)
	}

	out, code := run(t, nil, hiregate(t), "send", ports.url("/hooks/acme"), "--secret", "acme-signing-secret",
		"--payload", sample(t, "export-full.json"), "--document", sample(t, "resume.pdf"))
	require.Zero(t, code, out)
	require.Regexp(t, `^202 Accepted`, out)
	require.Contains(t, out, "Every document was fetched (2 of 2)")
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("correct horse"), 0o600))
	checked, code := run(t, nil, hiregate(t), "check", "apply", ports.url("/apply"), "--user", "partner@example.com", "--password", password,
		"--job", "NURSE-1")
	require.Zero(t, code, checked)
	require.Contains(t, checked, "failed: 0 must, 0 should")
	uuid := uuidLine.FindStringSubmatch(out)[1]
	first.line(`^partner  \| .*  export +acme  ` + uuid + `  signature valid  2 documents \(\d+ B, \d+ B\)  answered 200`)
	requireCompleted(t, ports, "export/acme/"+uuid)
	require.NotContains(t, first.out.String(), "\x1b", "colours are for terminals")
	require.NotContains(t, first.out.String(), "gateway  |", "there is nothing to warn of")
	logged, err := os.ReadFile(filepath.Join(dir, "gateway.log"))
	require.NoError(t, err)
	require.Contains(t, string(logged), "\ttenant created\t")
	require.Contains(t, string(logged), uuid)
	out, code = run(t, nil, hiregate(t), "export", "show", "acme/"+uuid, "--admin", loopback(ports.admin))
	require.Zero(t, code, out)
	link := fmt.Sprintf("http://localhost:%d/namespaces/default/workflows/export%%2Facme%%2F%s", ports.ui, uuid)
	require.Contains(t, out, link)
	browser := startChromium(t)
	browser.open(link)
	workflows, _, _ := strings.Cut(link, "export%2F")
	browser.awaitText(workflows, "export/acme/"+uuid)
	browser.awaitText(workflows, "hiregate-deliver")

	questions, err := http.NewRequest(http.MethodGet, ports.url("/apply/v2/job/NURSE-1/question"), nil)
	require.NoError(t, err)
	token := applyToken(t, ports.url("/apply"))
	questions.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(questions)
	require.NoError(t, err)
	defer resp.Body.Close()
	asked, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	data, err := samples.Load()
	require.NoError(t, err)
	var got []model.Question
	require.NoError(t, json.Unmarshal(asked, &got))
	require.Equal(t, compliance.Ask(&data.Jobs[0]), got)

	answers, err := os.Open(sample(t, "application.json")) // as docs/apply-api.md sends it
	require.NoError(t, err)
	defer answers.Close()
	application, err := http.NewRequest(http.MethodPost, ports.url("/apply/v2/application"), answers)
	require.NoError(t, err)
	application.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	taken, err := http.DefaultClient.Do(application)
	require.NoError(t, err)
	defer taken.Body.Close()
	require.Equal(t, http.StatusNoContent, taken.StatusCode)

	out, code = run(t, nil, hiregate(t), "dev", "--dir", dir)
	require.Equal(t, 1, code)
	require.Equal(t, fmt.Sprintf("Error: another hiregate dev (process %d) runs in %s: stop that one, or choose "+
		"another folder with --dir\n",
		first.cmd.Process.Pid, dir), out)

	first.kill()
	second := dev(t, dir, ports, "--verbose")
	second.line(devReady)
	requireCompleted(t, ports, "export/acme/"+uuid)
	again := []string{"send", fmt.Sprintf("http://127.0.0.1:%d/hooks?client=globex", ports.http), "--secret",
		"globex-signing-secret",
		"--uuid", "once", "--payload", sample(t, "export-minimal.json")}
	out, code = run(t, nil, hiregate(t), again...)
	require.Zero(t, code, out)
	require.Regexp(t, `^202 Accepted`, out)
	second.line(`^partner  \| .*  export +globex  once  signature valid`)

	second.interrupt()
	require.Zero(t, second.exitCode())
	requireFree(t, ports)
	second.line(`^Stopped within `)
	require.NotContains(t, second.out.String(), "unexpectedly")
	require.NotContains(t, second.out.String(), "killed")
	ended := strings.Index(second.out.String(), "stopped previous server")
	require.Positive(t, ended)
	require.Less(t, ended, strings.Index(second.out.String(), "partner  | listening since"), "the gateway stops first")

	third := dev(t, dir, ports)
	third.line(devReady)
	out, code = run(t, nil, hiregate(t), again...)
	require.Zero(t, code, out)
	require.Regexp(t, `^200 OK`, out, "it is known from before")
}

// Other ports on the data of before hold for all that dev made there. What somebody put into the place of that stays.
func TestDevAtOtherPorts(t *testing.T) {
	t.Parallel()
	dir, ports := t.TempDir(), newDevPorts(t)
	first := dev(t, dir, ports)
	first.line(devReady)
	first.interrupt()
	require.Zero(t, first.exitCode())

	ports = newDevPorts(t)
	second := dev(t, dir, ports)
	second.line(devReady)
	admin := "--admin=" + loopback(ports.admin)
	out, code := run(t, nil, hiregate(t), "candidate", "export", "initech/c-zoe", admin)
	require.Zero(t, code, out)
	require.Regexp(t, `(?m)^acme +delivered `, out)
	second.line(`^partner  \| .*  export +acme  `)

	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer partner.Close()
	secret := filepath.Join(dir, "their.secret")
	require.NoError(t, os.WriteFile(secret, []byte("their-signing-secret"), 0o600))
	for _, words := range [][]string{
		{"integration", "remove", "initech/acme", "--force", admin},
		{"integration", "set", "initech/acme", "--url", partner.URL + "/initech", "--secret-file", secret, admin},
		{"application", "enter", "initech/a-zoe-1", "offer", admin},
	} {
		out, code = run(t, nil, hiregate(t), words...)
		require.Zero(t, code, out)
	}
	second.interrupt()
	require.Zero(t, second.exitCode())
	third := dev(t, dir, ports)
	third.line(devReady)
	out, code = run(t, nil, hiregate(t), "integration", "list", admin)
	require.Zero(t, code, out)
	require.Regexp(t, `(?m)^initech/acme +unproven .*`+regexp.QuoteMeta(partner.URL), out)
	out, code = run(t, nil, hiregate(t), "application", "list", "initech", admin)
	require.Zero(t, code, out)
	require.Regexp(t, `(?m)^a-zoe-1 .* offer `, out)
	require.Regexp(t, `(?m)^a-kwame-1 .* applied `, out)
}

// requireCompleted waits until Temporal lists a workflow as completed, as its UI shows it.
func requireCompleted(t *testing.T, p devPorts, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		response, err := http.Get(fmt.Sprintf("http://%s/api/v1/namespaces/default/workflows?query=WorkflowId%%3D%%22%s%%22",
			loopback(p.ui), id))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var list struct {
			Executions []struct{ Status string }
		}
		return json.NewDecoder(response.Body).Decode(&list) == nil && len(list.Executions) == 1 &&
			list.Executions[0].Status == "WORKFLOW_EXECUTION_STATUS_COMPLETED"
	}, patience, 50*time.Millisecond, "%s is not completed", id)
}

func requireFree(t *testing.T, p devPorts) {
	t.Helper()
	for _, port := range p.all() {
		require.True(t, isFree(port), "port %d", port)
	}
}

func TestDevNamesTakenPortsBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	partner := start(t, nil, hiregate(t), "listen", "--addr", loopback(ports.partner), "--secret", "hris-signing-secret")
	partner.line("^Listening at")
	refused := dev(t, t.TempDir(), ports)
	require.Equal(t, 1, refused.exitCode())
	require.Equal(t, fmt.Sprintf("Error: port %d (--partner) is taken: end the program that listens there, or choose "+
		"another port with that flag\n", ports.partner), refused.out.String())

	without := dev(t, t.TempDir(), ports, "--no-partner")
	without.line(devReady)
	out, code := run(t, nil, hiregate(t), "send", ports.url("/hooks/acme"), "--secret", "acme-signing-secret")
	require.Zero(t, code, out)
	partner.line(`  export +acme  \S+  signature valid`)
	require.NotContains(t, without.out.String(), "partner  |")
}

func TestDevEndsWithAChild(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	p := dev(t, t.TempDir(), ports)
	p.line(devReady)
	out, code := run(t, nil, hiregate(t), "stop", "--address", loopback(ports.admin))
	require.Zero(t, code, out)
	require.Equal(t, 1, p.exitCode())
	text := p.out.String()
	require.Regexp(t,
		`Error: the gateway ended unexpectedly \(exit status 0\), so everything was stopped\. Its last lines:\n  .*`, text)
	require.Contains(t, text[strings.Index(text, "Error: "):], "stopped previous server")
	require.Equal(t, 1, strings.Count(text, "Error:"))
	requireFree(t, ports)
}

func TestDevInterruptedWhileItStarts(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"the sample partner answers", "the gateway answers"} { // then come the sample data
		ports := newDevPorts(t)
		p := dev(t, t.TempDir(), ports)
		p.line(moment)
		p.interrupt()
		require.Zero(t, p.exitCode(), p.out.String())
		require.NotContains(t, p.out.String(), "Error")
		requireFree(t, ports)
	}
}

// Every export that comes while the sample partner fails and is slow is delivered in the end.
func TestDevShowsAPartnerThatBreaks(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	p := dev(t, t.TempDir(), ports, "--break=3s")
	p.line(`^break    \| The sample partner fails: .*: ` + ports.url("/console") + `$`)
	p.line(`^partner  \| .* answered 503`)
	p.line(`^break    \| The sample partner is slow: .*: ` + ports.url("/console/tenants/acme/integrations/hris") + `$`)
	p.line(`^break    \| The sample partner is well again: `)
	p.line(`^break    \| It is over\. Of 9 exports that came meanwhile, 9 are delivered: `)
	p.interrupt()
	require.Zero(t, p.exitCode())

	for flag, want := range map[string]string{
		"--break=1ms": "--break must be at least 1s", "--break --no-partner": "leave out --no-partner",
	} {
		out, code := run(t, nil, hiregate(t), append([]string{"dev", "--dir", t.TempDir()}, strings.Fields(flag)...)...)
		require.Equal(t, 2, code, out)
		require.Contains(t, out, want)
	}
}

func TestDevWithoutAnythingToRun(t *testing.T) {
	t.Parallel()
	out, code := run(t, []string{"TEMPORAL_DEV_BIN=/nowhere/temporal-dev"}, hiregate(t), "dev", "--dir", t.TempDir())
	require.Equal(t, 1, code)
	require.Equal(t, "Error: TEMPORAL_DEV_BIN names no program: /nowhere/temporal-dev\n", out)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	out, code = run(t, []string{"TEMPORAL_DEV_BIN=" + temporalDev(t)}, hiregate(t), "dev", "--dir", file)
	require.Equal(t, 1, code)
	require.Equal(t, "Error: --dir "+file+" can't be made: not a directory\n", out)
}

// TestSecondInterruptKills stops `hiregate dev` while its gateway waits for a partner, which it would do for 20 s.
func TestSecondInterruptKills(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	arrived, finish := make(chan struct{}), make(chan struct{})
	l, err := net.Listen("tcp", loopback(ports.partner))
	require.NoError(t, err)
	partner := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Service-Event") == "CANDIDATE-EXPORT" {
			select {
			case arrived <- struct{}{}:
			case <-finish:
			}
			<-finish
		}
	})}
	go partner.Serve(l)
	defer partner.Close()
	defer close(finish)

	p := dev(t, t.TempDir(), ports, "--no-partner", "--verbose")
	p.line(devReady)
	out, code := run(t, nil, hiregate(t), "send", ports.url("/hooks/acme"), "--secret", "acme-signing-secret")
	require.Zero(t, code, out)
	select {
	case <-arrived:
	case <-time.After(patience):
		require.FailNow(t, "no attempt arrives")
	}
	p.interrupt()
	p.line("^Stopping; another Ctrl-C ends everything at once")
	p.line("^gateway .* shutting down")
	require.False(t, p.hasEnded())
	p.interrupt()
	require.Equal(t, -1, p.exitCode(), "the signal ended it")
	ports.partner = ports.http // the partner is not its child
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(ports.all(), func(port int) bool { return !isFree(port) })
	}, 5*time.Second, 10*time.Millisecond)
}
