package manageapi_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
)

// run runs a command to its end.
func run(t *testing.T, cmd *cobra.Command, args ...string) (out, hints string, err error) {
	t.Helper()
	return clitest.Run(t.Context(), cmd, args...)
}

// cli runs a command against the API.
func (b *fixture) cli(args ...string) (out, hints string, err error) {
	b.t.Helper()
	commandOf := map[string]func() *cobra.Command{"export": admin.Export, "integration": admin.Integration,
		"api-key": admin.APIKey, "audit": admin.Audit, "status": admin.Status, "oauth-client": admin.OAuthClient,
		"redelivery": admin.Redelivery, "cause": admin.Cause, "user": admin.User, "session": admin.Session,
		"tenant": admin.Tenant, "candidate": admin.Candidate, "application": admin.Application,
		"subscription": admin.Subscription, "portal": admin.Portal, "event": admin.Event, "document": admin.Document, "job": admin.Job, "step": admin.Step,
		"submission": admin.Submission}
	address := strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate")
	return run(b.t, commandOf[args[0]](), append(args[1:], "--admin", address)...)
}
