package modules

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/stretchr/testify/require"
)

// A role is for all tenants, for one, or for those with labels.
func TestConsoleRoles(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]ConsoleRole{
		"viewer email a@example.com":                           {Role: "viewer", Emails: []string{"a@example.com"}},
		"viewer labels group staff":                            {Role: "viewer", Tenant: "labels", Groups: []string{"staff"}},
		"operator labels region=north tier=gold group staff x": {Role: "operator", Labels: []string{"region=north", "tier=gold"}, Groups: []string{"staff", "x"}},
		"administrator acme email a@example.com b@example.com": {Role: "administrator", Tenant: "acme", Emails: []string{"a@example.com", "b@example.com"}},
	} {
		var h Console
		d := httpcaddyfile.Helper{Dispenser: caddyfile.NewTestDispenser("roles {\n" + line + "\n}")}
		d.Next()
		require.NoError(t, h.roles(d, nil), line)
		h.Roles[0].Source = ""
		require.Equal(t, []ConsoleRole{want}, h.Roles, line)
	}
	for line, why := range map[string]string{
		"operator labels Region=north email a@example.com":       "write a name of small letters",
		"operator labels region=north region=east email a@b.org": "there twice",
		"operator acme globex email a@example.com":               "more than one tenant",
		"operator labels region=north":                           "goes to nobody",
	} {
		var h Console
		d := httpcaddyfile.Helper{Dispenser: caddyfile.NewTestDispenser("roles {\n" + line + "\n}")}
		d.Next()
		require.ErrorContains(t, h.roles(d, nil), why, line)
	}
	people := []string{"a@example.com"}
	require.ErrorContains(t, (&ConsoleRole{Role: "viewer", Labels: []string{}, Emails: people}).validate(), "labels is empty")
	require.ErrorContains(t, (&ConsoleRole{Role: "viewer", Tenant: "acme", Labels: []string{"a=b"}, Emails: people}).validate(), "write two lines")
}

// The label of the environment stands beside the title of each page: a long one is refused with what to write.
func TestConsoleEnvironment(t *testing.T) {
	t.Parallel()
	h := &Console{Keys: []string{"{env.KEY}"}, Roles: []ConsoleRole{{Role: "viewer", Emails: []string{"ops@example.com"}}}}
	for environment, wrong := range map[string]error{"": nil, "production": nil, strings.Repeat("ü", 24): nil,
		strings.Repeat("x", 25): errEnvironment} {
		h.Environment = environment
		require.Equal(t, wrong, h.check(), environment)
	}
	require.ErrorContains(t, errEnvironment, "at most 24 characters, such as production or test")
}
