package manageapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
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
		"redelivery": admin.Redelivery,
		"tenant":     admin.Tenant, "candidate": admin.Candidate, "application": admin.Application,
		"document": admin.Document, "job": admin.Job, "step": admin.Step}
	address := strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate")
	return run(b.t, commandOf[args[0]](), append(args[1:], "--admin", address)...)
}

func TestExportListCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.delivery(e, "hris", model.Failed, 500, 500)
	b.status("acme", "crm", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	b.delivery(e, "crm", model.Retrying, 503)
	waiting := b.export("globex", "u-2")
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.BeginRound(waiting.ID, []string{"hris"}, gatewaytest.Noon, gatewaytest.Noon)
		return err
	})
	out, hints, err := b.cli("export", "list")
	require.NoError(t, err)
	require.Empty(t, hints)
	require.Regexp(t, `^EXPORT +RECEIVED +CANDIDATE +DOCUMENTS +DELIVERIES\n`+
		`globex/u-2 +2026-11-20T12:00:00Z \(\d+\w ago\) +c-u-2 +1 +waits for Temporal\n`+
		`acme/u-1 +2026-11-20T12:00:00Z \(\d+\w ago\) +c-u-1 +1 +crm retrying, hris failed \(2 attempts\)\n$`, out)

	for want, args := range map[string][]string{
		"u-1": {"--tenant", "acme"}, "u-2": {"--tenant", "globex", "--candidate", "c-u-2"},
		"u-1 ": {"--tenant", "acme", "--outcome", "failed", "--integration", "hris"},
	} {
		out, _, err := b.cli(append([]string{"export", "list"}, args...)...)
		require.NoError(t, err)
		require.Contains(t, out, want)
		require.Equal(t, 2, strings.Count(out, "\n"), "%v: %s", args, out)
	}
	_, _, err = b.cli("export", "list", "--tenant", "nobody")
	require.EqualError(t, err, "there is no tenant of that name: nobody")
	_, _, err = b.cli("export", "list", "--candidate", "c-u-2")
	require.EqualError(t, err, "--candidate is a name within a tenant: add --tenant")
	_, _, err = b.cli("export", "list", "--outcome", "lost")
	require.ErrorContains(t, err, "exports are found by retrying")
}

// What is not delivered yet is listed, in every state, and of some hours alone.
func TestExportListCommandOfTheUndelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.export("acme", "old", func(e *model.Export) {
		e.ReceivedAt = e.ReceivedAt.Add(-24 * time.Hour)
		e.ID = model.FirstID(e.ReceivedAt)
	})
	b.delivery(old, "hris", model.Held)
	pending := b.export("acme", "pending")
	b.Write(t, func(tx *store.Tx) error {
		return tx.MarkDispatched(pending.ID, 0, gatewaytest.Noon, "crm", "hris")
	})
	b.delivery(pending, "hris", model.Delivered, 200)
	b.delivery(b.export("acme", "failed"), "hris", model.Failed, 500)
	list := func(args ...string) (uuids []string) {
		out, _, err := b.cli(append([]string{"export", "list", "--undelivered"}, args...)...)
		require.NoError(t, err)
		for line := range strings.Lines(out) {
			uuids = append(uuids, strings.Fields(line)[0])
		}
		return uuids[1:]
	}
	require.Equal(t, []string{"acme/pending", "acme/old"}, list())
	require.Equal(t, []string{"acme/old"}, list("--tenant", "acme", "--integration", "hris"))
	noon := gatewaytest.Noon.Format(time.RFC3339)
	require.Equal(t, []string{"acme/pending"}, list("--since", noon))
	require.Equal(t, []string{"acme/old"}, list("--until", noon))
	require.Empty(t, list("--since", "0s"))
	_, _, err := b.cli("export", "list", "--since", "yesterday")
	require.EqualError(t, err, "--since: yesterday is no time: write one such as 2026-11-20T12:00:00Z, or how long "+
		"ago it is, such as 90m, 24h or 7d")
}

func TestExportListCommandPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 503 // more than the gateway gives at once
	b.Write(t, func(tx *store.Tx) error {
		for i := range n {
			e := inbox.NewExport("acme", fmt.Sprintf("u-%d", i), []byte("{}"), gatewaytest.Noon)
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	ids := func(args ...string) (all map[string]bool, hints string) {
		out, hints, err := b.cli(append([]string{"export", "list", "--json"}, args...)...)
		require.NoError(t, err)
		all = map[string]bool{}
		for line := range strings.Lines(out) {
			var e struct{ ID, SHA256 string }
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			require.Len(t, e.SHA256, 64)
			require.False(t, all[e.ID], "twice")
			all[e.ID] = true
		}
		return all, hints
	}
	all, _ := ids("--all")
	require.Len(t, all, n)
	all, _ = ids("--limit", "502")
	require.Len(t, all, 502)
	all, _ = ids()
	require.Len(t, all, 50)
	out, hints, err := b.cli("export", "list", "--limit", "2")
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(out, "\n"))
	require.Contains(t, hints, "--all")
	out, hints, err = b.cli("export", "list", "--all")
	require.NoError(t, err)
	require.Equal(t, n+1, strings.Count(out, "\n"))
	require.Empty(t, hints)
}

func TestExportShowCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "a/b")
	d := b.delivery(e, "hris", model.Failed, 500)
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: gatewaytest.Noon, Status: 502,
			Answer: []byte("\x1b[2J" + strings.Repeat("x", 1000)), Address: "192.0.2.7:443", Manual: true,
			Header: []byte("Content-Type: text/html\nServer: x\n"),
			Phases: model.Phases{DNS: time.Millisecond, FirstByte: 2 * time.Millisecond}}); err != nil {
			return err
		}
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte(sourceURL),
			CreatedAt: gatewaytest.Noon})
	})
	for _, args := range [][]string{{"acme/a/b"}} {
		out, _, err := b.cli(append([]string{"export", "show"}, args...)...)
		require.NoError(t, err)
		require.Regexp(t, `(?m)^uuid +a/b$`, out)
		require.Regexp(t, `(?m)^workflow +export/acme/a%2Fb$`, out)
		require.Regexp(t,
			`(?m)^hris +0 +failed +partner_fault +1 +2026-11-20T12:00:02Z \(\d+\w ago\) +- +`+
				`answered 500; only 2xx means received$`, out)
		require.Contains(t, out,
			"hris, round 0, attempt 1 (automatic): 2026-11-20T12:00:00Z, took 1.5ms: 500 Internal Server Error\n"+
				"  answer  what the partner answered\n")
		require.Contains(t, out, ""+
			"hris, round 0, attempt 2 (manual): 2026-11-20T12:00:00Z, took 0s: 502 Bad Gateway\n"+
			"  address  192.0.2.7:443\n"+
			"  phases   dns 1ms, first byte 2ms\n"+
			"  header   Content-Type: text/html; Server: x\n")
		require.Regexp(t, `(?m)^  answer   \\x1b\[2Jx{296}…$`, out)
		require.Regexp(t, `(?m)^0 +fetching +0 +0 +- +- +- +-$`, out)
		require.NotContains(t, out, "source-credential")
	}
	out, _, err := b.cli("export", "show", "acme/a/b", "--json")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "\n"))
	require.Contains(t, out, strings.Repeat("x", 1000))
	for _, uuid := range []string{"../../x", "..", "~tilde", "a/./b"} { // what no address holds as it is
		b.export("acme", uuid)
		out, _, err = b.cli("export", "show", "acme/"+uuid)
		require.NoError(t, err, uuid)
		require.Contains(t, out, uuid)
		out, _, err = b.cli("export", "redeliver", "acme/"+uuid, "--wait", "0s")
		require.NoError(t, err, uuid)
		require.Contains(t, out, "acme/"+uuid)
	}
	_, _, err = b.cli("export", "show", "acme/u-2")
	require.EqualError(t, err, "this tenant has no export of that UUID")
}

func TestExportRedeliverCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "..")
	b.delivery(e, "hris", model.Failed, 500)
	out, _, err := b.cli("export", "redeliver", "acme/..", "--integration", "hris", "--integration", "crm", "--wait", "0s")
	require.NoError(t, err)
	table, shown, _ := strings.Cut(out, "\n\n")
	require.Equal(t, ""+
		"EXPORT   INTEGRATION  WHAT HAPPENS\n"+
		"acme/..  crm          delivered again, in round 1\n"+
		"acme/..  hris         delivered again, in round 1", table)
	require.Regexp(t, `(?m)^state +waits for Temporal$`, shown, "as it is after that")
	require.Regexp(t, `(?m)^hris +1 +pending +`, shown)
	kept, err := b.Runtime.Store().Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, kept.Round)
	_, _, err = b.cli("export", "redeliver", "acme/..")
	require.ErrorContains(t, err, "it waits for Temporal")

	b.export("acme", "u-2")
	out, _, err = b.cli("export", "redeliver", "acme/u-2", "--json")
	require.NoError(t, err)
	require.Equal(t, `{"round":1,"started":["hris","crm","own"]}`+"\n", out)
}

func TestIntegrationCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, Attempts: 1, UpdatedAt: gatewaytest.Noon})
	out, _, err := b.cli("integration", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^acme/hris +unproven +2026-11-20T12:00:00Z \(\d+\w ago\) +0 +- +- +`+
		`https://hr\.acme\.example +verified, nothing sent yet$`, out)
	require.Regexp(t,
		`(?m)^globex/hris +not_configured +- +0 +- +- +https://hr\.globex\.example +VERIFY was not sent yet$`, out)
	require.NotContains(t, out, urlPath)
	out, _, err = b.cli("integration", "list", "--json")
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(out, "\n"))

	out, _, err = b.cli("integration", "disable", "acme/own", "--reason", "they move")
	require.NoError(t, err)
	require.Equal(t, "acme/own is disabled: its exports are held until hiregate integration enable acme/own\n", out)
	out, _, err = b.cli("integration", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^acme/own +disabled .* an operator disabled it, because: they move$`, out)

	out, _, err = b.cli("integration", "enable", "acme/hris")
	require.NoError(t, err)
	require.Equal(t, "acme/hris: it is configured; what is held goes out by itself within a minute\n", out)
	_, _, err = b.cli("integration", "enable", "globex/hris")
	require.ErrorContains(t, err, "VERIFY is sent once that is back")
	_, _, err = b.cli("integration", "enable", "acme/nothing")
	require.EqualError(t, err, "this tenant has no integration of that name")
}

func TestAPIKeyCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out, hints, err := b.cli("api-key", "set", "CI of HR", "--tenant", "acme", "--role", "operator")
	require.NoError(t, err)
	require.Regexp(t, `^hgk_[A-Za-z0-9_-]{43}\n$`, out, "the key alone, so that it can be put into a variable")
	require.Regexp(t,
		`^It opens acme as operator, and is not shown again. Revoke it with: `+
			`hiregate api-key remove [0-9a-f-]{36}\n$`, hints)
	keyed := b.keyed().as("Bearer " + strings.TrimSpace(out))
	keyed.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme", "")
	id := ids(b, "/v1/api-keys")[0]

	out, _, err = b.cli("api-key", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^ID +LABEL +OPENS +ROLE +CREATED +LAST USED +REVOKED\n`+id+
		` +CI of HR +acme +operator +2026-11-20T12:00:00Z \(\d+\w ago\) +`+
		`2026-11-20T12:00:00Z \(\d+\w ago\) +-$`, out)
	out, _, err = b.cli("api-key", "remove", "CI of HR")
	require.NoError(t, err)
	require.Equal(t, "CI of HR is revoked\n", out)
	keyed.must(http.StatusUnauthorized, http.MethodGet, "/v1/tenants/acme", "")
	out, _, err = b.cli("api-key", "set", "x", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"role":"viewer"`)
	out, _, err = b.cli("api-key", "list", "--json", "--all")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(out, "\n"))

	_, _, err = b.cli("api-key", "set")
	require.ErrorContains(t, err, "takes one label")
	_, _, err = b.cli("api-key", "set", "x")
	require.ErrorContains(t, err, "there is a key labelled x")
	_, _, err = b.cli("api-key", "set", "y", "--role", "root")
	require.ErrorContains(t, err, "use viewer, operator, admin or compliance")
	_, _, err = b.cli("api-key", "set", "y", "--tenant", "nobody")
	require.EqualError(t, err, "there is no tenant of that name: nobody")
	_, _, err = b.cli("api-key", "remove", "nobody")
	require.EqualError(t, err, "there is no API key of that id")
}

func TestAdminFromTheEnvironment(t *testing.T) {
	b := setup(t)
	b.export("acme", "u-1")
	t.Setenv("HIREGATE_ADMIN", strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate"))
	out, _, err := run(t, admin.Export(), "list")
	require.NoError(t, err)
	require.Contains(t, out, "u-1")
}
