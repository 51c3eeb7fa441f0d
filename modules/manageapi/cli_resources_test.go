package manageapi_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/model"
)

// Everything of a hiring workflow is set by the command line alone: candidate, job, steps with a helper, application
// and document.
func TestAWorkflowByTheCommandLine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	must := func(args ...string) string {
		out, _, err := b.cli(args...)
		require.NoError(t, err, "%v", args)
		return out
	}
	fails := func(want string, args ...string) {
		_, _, err := b.cli(args...)
		require.ErrorContains(t, err, want, "%v", args)
	}
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	zoe := file("zoe.json", `{"name":{"given":"Zoë","family":"Park"},"email":["zoe@example.com"]}`)
	require.Equal(t, "acme/c-zoe is set\n", must("candidate", "set", "acme/c-zoe", zoe))
	require.Regexp(t, `(?m)^name +Zoë Park$`, must("candidate", "show", "acme/zoe@example.com"))
	stored := file("stored.json", must("candidate", "show", "acme/c-zoe", "--json"))
	must("candidate", "set", "acme/c-zoe", zoe)
	fails("has changed since: the file has version 1, and version 2 is stored", "candidate", "set", "acme/c-zoe", stored)
	fails("is not a JSON object", "candidate", "set", "acme/c-zoe", file("list.json", "[]"))

	must("job", "set", "acme/NURSE-1", file("job.json", `{"id":"j-1","title":"Nurse"}`))
	must("step", "set", "acme/applied", "--name", "Applied")
	must("step", "set", "acme/hired", "--name", "Hired", "--category", "hired", "--helper", "own")
	must("step", "set", "acme/interview", "--position", "1")
	steps := must("step", "list", "acme")
	require.Regexp(t, `(?s)applied +Applied.*interview +interview.*hired +Hired +hired +own`, steps)
	must("step", "set", "acme/hired", "--name", "Hired!")
	require.Regexp(t, `(?m)^helper exports to +own$`, must("step", "show", "acme/hired"))
	must("step", "set", "acme/hired", "--helper-to-all")
	require.Contains(t, must("step", "show", "acme/hired"), "every configured integration")
	must("step", "set", "acme/hired", "--no-helper")
	require.Regexp(t, `(?m)^helper exports to +-$`, must("step", "show", "acme/hired"))
	must("step", "set", "acme/hired", "--helper", "own")
	fails("this tenant has no integration", "step", "set", "acme/hired", "--helper", "nothing")
	fails("exclude each other", "step", "set", "acme/hired", "--helper", "own", "--no-helper")
	fails("--position must be from 0 to 3", "step", "set", "acme/late", "--position", "7")
	must("step", "remove", "acme/interview")
	fails("tenant acme has no step interview: hiregate step list acme", "step", "show", "acme/interview")

	must("application", "set", "acme/a-zoe", file("application.json", `{"candidate":"c-zoe","jobBoardCode":"NURSE-1"}`))
	resume := file("resume.pdf", string(clitest.PDF))
	require.Contains(t, must("document", "set", "acme/a-zoe/resume", resume, "--description", "Resume"),
		"acme/a-zoe/resume is added: application/pdf, ")
	require.Regexp(t, `(?m)^resume +resume\.pdf +application/pdf .* Resume$`, must("document", "list", "acme/a-zoe"))
	require.Regexp(t, `(?m)^file +resume\.pdf$`, must("document", "show", "acme/a-zoe/resume"))
	fails("write it as TENANT/APPLICATION/DOCUMENT", "document", "show", "acme/a-zoe")

	b.deliver(model.Delivered, 200)
	require.Regexp(t, `^acme/a-zoe entered hired\nexport acme/[0-9a-f-]{36}\n$`,
		must("application", "enter", "acme/a-zoe", "hired"))
	require.Regexp(t, `(?m)^a-zoe +c-zoe +NURSE-1 +hired `, must("application", "list", "acme", "--step", "hired"))
	require.NotContains(t, must("application", "list", "acme", "--step", "applied"), "a-zoe")
	require.Regexp(t, `(?m)^step +hired$`, must("application", "show", "acme/a-zoe"))

	fails("has job applications", "candidate", "remove", "acme/zoe@example.com")
	must("document", "remove", "acme/a-zoe/resume")
	must("application", "remove", "acme/a-zoe")
	must("candidate", "remove", "acme/zoe@example.com")
	must("job", "remove", "acme/NURSE-1")
	fails("this tenant has no candidate", "candidate", "show", "acme/zoe@example.com")
}

// An integration of the database is changed by the flags that name what is new.
func TestIntegrationSetChangesWhatItNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	address := b.partner(func(http.ResponseWriter, *http.Request) {})
	secret := clitest.File(t, "secret", []byte("s3cret\n"))
	_, _, err := b.cli("tenant", "set", "initech", "--name", "Initech")
	require.NoError(t, err)
	_, _, err = b.cli("integration", "set", "initech/hris", "--documents", "inline")
	require.ErrorContains(t, err, "say where it is and what signs its exports: --url")
	for _, args := range [][]string{
		{"--url", address + "/x", "--secret-file", secret, "--documents", "inline"},
		{"--in-flight", "3"},
		{"--retry", "1s,2m"},
		{"--secret-file", clitest.File(t, "next", []byte("n3xt\n")), "--former-secret-file", secret},
	} {
		_, _, err := b.cli(append([]string{"integration", "set", "initech/hris"}, args...)...)
		require.NoError(t, err, "%v", args)
	}
	i, ok := b.Config.Integration("initech", "hris")
	require.True(t, ok)
	_, _, err = b.cli("integration", "set", "initech/hris", "--end-former")
	require.NoError(t, err)
	ended, _ := b.Config.Integration("initech", "hris")
	require.Empty(t, ended.FormerSecret)
	require.Equal(t, []any{address + "/x", model.Secret("n3xt"), model.Secret("s3cret"), model.Inline, 3, 2},
		[]any{i.URL, i.Secret, i.FormerSecret, i.Documents, i.InFlight, len(i.Retry)})
}

// With HIREGATE_URL and HIREGATE_API_KEY the commands ask a gateway of another machine.
func TestARemoteGateway(t *testing.T) {
	b := setup(t)
	b.export("acme", "u-1")
	keyed := b.keyed()
	key := strings.TrimPrefix(b.key("k-1", "acme", model.Viewer), "Bearer ")
	list := func(args ...string) (string, error) {
		out, _, err := run(t, admin.Export(), append([]string{"list", "--tenant", "acme"}, args...)...)
		return out, err
	}
	t.Setenv(admin.GatewayVariable, keyed.url)
	t.Setenv(admin.KeyVariable, "")
	_, err := list()
	require.ErrorContains(t, err, "wants an API key: put one into the environment variable HIREGATE_API_KEY")
	t.Setenv(admin.KeyVariable, key)
	out, err := list()
	require.NoError(t, err)
	require.Contains(t, out, "acme/u-1")
	_, _, err = run(t, admin.Integration(), "disable", "acme/hris")
	require.ErrorContains(t, err, "role", "the key's role counts")
	t.Setenv(admin.KeyVariable, "hgk_wrong")
	_, err = list()
	require.ErrorContains(t, err, "send an API key that is good")
	out, err = list("--api-key-file", clitest.File(t, "key", []byte(key+"\n")))
	require.NoError(t, err)
	require.Contains(t, out, "acme/u-1")

	local := strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate")
	out, err = list("--admin", local)
	require.NoError(t, err, "a flag counts more than the environment")
	require.Contains(t, out, "acme/u-1")
	for want, args := range map[string][]string{
		"name two gateways":                     {"--gateway", keyed.url, "--admin", local},
		"would show the API key to the network": {"--gateway", "http://gate.example.com/manage"},
		"is not the address of a management":    {"--gateway", "gate.example.com"},
		"is not the management API":             {"--gateway", strings.TrimSuffix(keyed.url, "/manage")},
		"it speaks http, not https":             {"--gateway", strings.Replace(keyed.url, "http://", "https://", 1)},
	} {
		_, err := list(args...)
		require.ErrorContains(t, err, want)
	}
	t.Setenv(admin.GatewayVariable, "")
	_, err = list("--api-key-file", "key")
	require.ErrorContains(t, err, "name its management API with --gateway")
}

// A shell is offered what the gateway has.
func TestCompletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1")
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/c-zoe", `{}`)
	offered := func(args ...string) []string {
		t.Helper()
		root := &cobra.Command{Use: "hiregate"}
		for _, command := range []func() *cobra.Command{admin.Export, admin.Integration, admin.Candidate, admin.Tenant} {
			root.AddCommand(command())
		}
		address := strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate")
		args = append([]string{"__complete", args[0], args[1], "--admin", address}, args[2:]...)
		out, _, err := clitest.Run(t.Context(), root, args...)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[:len(lines)-1] // the last one is for the shell
	}
	require.Equal(t, []string{"acme", "globex", "idle"}, offered("tenant", "show", ""))
	require.Equal(t, []string{"acme/"}, offered("integration", "disable", "a"))
	require.Equal(t, []string{"acme/crm", "acme/hris", "acme/own"}, offered("integration", "disable", "acme/"))
	require.Equal(t, []string{"acme/u-1"}, offered("export", "show", "acme/u"))
	require.Equal(t, []string{"acme/u-1"}, offered("export", "erase", "acme/u-2", "acme/"), "of several")
	require.Equal(t, []string{"acme/c-zoe"}, offered("candidate", "export", "acme/c"))
	require.Equal(t, []string{"acme"}, offered("export", "list", "--tenant", "ac"))
	require.Equal(t, []string{"hris"}, offered("export", "list", "--tenant", "acme", "--integration", "h"))
	require.Equal(t, []string{"crm", "hris", "own"}, offered("export", "redeliver", "acme/u-1", "--integration", ""))
	require.Empty(t, offered("export", "show", "acme/u-1", ""), "it takes one")
	require.Empty(t, offered("tenant", "show", "x"))
}
