package manageapi_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// A tenant, its integration and an export, by the command line alone.
func TestServiceCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fine := true
	address := b.partner(func(w http.ResponseWriter, _ *http.Request) {
		if !fine {
			w.WriteHeader(http.StatusCreated)
		}
	})
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	cli := func(args ...string) string {
		out, _, err := b.cli(args...)
		require.NoError(t, err, "%v", args)
		return out
	}
	cli("tenant", "set", "initech", "--name", "Initech", "--secret-file", secret, "--invalid", "quarantine")
	kept, _ := b.Config.Tenant("initech")
	require.Equal(t, []model.Secret{"s3cret"}, kept.Secrets)
	require.True(t, kept.Quarantine)
	require.Regexp(t, `(?m)^initech +Initech +database +1 +quarantine `, cli("tenant", "list"))
	require.Regexp(t, `(?m)^acme +- +Caddyfile +1 +refuse `, cli("tenant", "list"))

	add := []string{"integration", "set", "initech/hris", "--url", address + "/x", "--secret-file", secret}
	fine = false
	_, _, err := b.cli(add...)
	require.ErrorContains(t, err, "nothing was saved: VERIFY was answered 201; it must be exactly 200")
	fine = true
	require.Contains(t, cli(append(add, "--documents", "inline", "--standard-webhooks")...),
		"initech/hris is set, and configured")
	require.Regexp(t, `(?m)^initech/hris +unproven +2026-11-20T12:00:00Z `, cli("integration", "list"))
	require.Equal(t, 3, strings.Count(cli("integration", "list", "--limit", "2"), "\n"))

	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech/candidates/c-zoe", `{"name":{"given":"Zoë"}}`)
	require.Contains(t, cli("candidate", "list", "initech"), "Zoë")
	b.deliver(model.Delivered, 200)
	require.Regexp(t, `(?s)^export initech/[0-9a-f-]{36}\nINTEGRATION.*hris +delivered`,
		cli("candidate", "export", "initech/c-zoe"))
	_, _, err = b.cli("candidate", "export", "initech/nobody")
	require.EqualError(t, err, "the tenant has no candidate of that id")

	_, _, err = b.cli("tenant", "remove", "initech")
	require.ErrorContains(t, err, "delete those first")
	cli("integration", "remove", "initech/hris")
	cli("tenant", "remove", "initech")
	_, _, err = b.cli("tenant", "remove", "acme")
	require.ErrorContains(t, err, "declared in the gateway's Caddyfile")
}

// What tenant set does not name stays as it is: a removed secret would stop the tenant's exports.
func TestTenantSetChangesWhatItNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	set := func(args ...string) string {
		out, _, err := b.cli(append([]string{"tenant", "set", "initech"}, args...)...)
		require.NoError(t, err, "%v", args)
		return out
	}
	kept := func() *model.Tenant {
		tenant, _ := b.Config.Tenant("initech")
		return tenant
	}
	one, two := file("one", "one\n"), file("two", "two\r\n")
	require.Contains(t, set("--name", "Initech", "--secret-file", one, "--secret-file", two), "with 2 secrets")
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech","rate":{"perSecond":5,"burst":10}}`)
	require.Contains(t, set("--invalid", "quarantine"), "with 2 secrets")
	require.Contains(t, set("--name", "Initech Inc."), "with 2 secrets")
	require.Equal(t, "Initech Inc.", kept().Title)
	require.Equal(t, []model.Secret{"one", "two"}, kept().Secrets)
	require.Equal(t, &model.Rate{PerSecond: 5, Burst: 10}, kept().Rate)
	require.True(t, kept().Quarantine)
	set("--secret-file", two, "--invalid", "refuse")
	require.Equal(t, []model.Secret{"two"}, kept().Secrets)
	require.False(t, kept().Quarantine)
	require.Contains(t, set("--no-secret"), "with 0 secrets")
	require.Empty(t, kept().Secrets)

	none := filepath.Join(folder, "none")
	for want, args := range map[string][]string{
		"exclude each other": {"--no-secret", "--secret-file", one},
		"reading a secret from " + none + ": no such file or directory": {"--secret-file", none},
		"has several lines": {"--secret-file", file("lines", "one\ntwo\n")},
		"is empty":          {"--secret-file", file("empty", "\n")},
	} {
		_, _, err := b.cli(append([]string{"tenant", "set", "initech"}, args...)...)
		require.ErrorContains(t, err, want)
	}
	_, _, err := b.cli("tenant", "set", "acme", "--name", "Acme")
	require.ErrorContains(t, err, "declared in the gateway's Caddyfile")
}
