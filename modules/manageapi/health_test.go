package manageapi_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// attempts counts attempts at an integration, which begin a second after the other and end at once.
func (b *fixture) attempts(tenant, integration string, begin time.Time, faults ...model.Class) {
	b.t.Helper()
	b.Write(b.t, func(tx *store.Tx) error {
		for n, fault := range faults {
			tx.CountAttempt(model.Place{Tenant: tenant, Integration: integration}, int64(n), &model.Attempt{Fault: fault,
				Status: 422, StartedAt: begin.Add(time.Duration(n) * time.Second), Error: "no connection could be made"})
		}
		return nil
	})
}

func (b *fixture) configured() {
	for _, at := range [][2]string{{"acme", "hris"}, {"acme", "crm"}, {"globex", "hris"}} {
		b.status(at[0], at[1], store.IntegrationStatus{State: model.Configured,
			UpdatedAt: gatewaytest.Noon.Add(-time.Hour)})
	}
}

// Whoever is called at night learns with one command which integration it is, since when, why, and what waits.
func TestHealthOfAnIntegrationThatIsDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured()
	out, _, err := b.cli("status")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(out, "Nothing needs you.\n"), out)

	const partner = model.ClassPartnerFault
	b.attempts("acme", "hris", gatewaytest.Noon.Add(-2*time.Minute), "", partner, partner, partner)
	b.attempts("acme", "own", gatewaytest.Noon.Add(-25*time.Hour), "", model.ClassDataFault)
	for _, key := range []string{"u-1", "u-2"} {
		e := b.export("acme", key)
		b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, gatewaytest.Noon, "hris") })
	}
	b.Clock.Advance(10 * time.Minute)

	shown := get[map[string]any](b, "/v1/tenants/acme/integrations/hris/health")
	require.Equal(t, "failing", shown["state"])
	require.Equal(t, "2026-11-20T11:58:01Z", shown["since"])
	require.Equal(t, "no connection could be made", shown["reason"])
	require.EqualValues(t, 2, shown["waiting"])
	require.Equal(t, "2026-11-20T12:00:00Z", shown["oldestWaiting"])
	require.Equal(t, "2026-11-20T11:58:00Z", shown["lastSuccess"])
	require.EqualValues(t, 3, shown["consecutiveFailures"])
	require.Equal(t, map[string]any{"state": "closed"}, shown["breaker"])
	day := shown["lastDay"].(map[string]any)
	require.Equal(t, []any{4.0, 1.0, 3.0, 0.25}, []any{day["attempts"], day["delivered"], day["partnerFault"],
		day["successRate"]})
	hours := shown["hours"].([]any)
	require.Len(t, hours, 1)
	require.Equal(t, "2026-11-20T11:00:00Z", hours[0].(map[string]any)["hour"])
	shown = get[map[string]any](b, "/v1/tenants/acme/integrations/hris/health?since=2026-11-20T12:00:00Z")
	require.Empty(t, shown["hours"])
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, "/v1/status", "").body, `"hours"`)
	status := get[api.GatewayStatus](b, "/v1/status?hours=24").Integrations
	require.Equal(t, []api.HourTally{{Begin: gatewaytest.Noon.Add(-time.Hour),
		Tally: api.Tally{Attempts: 4, Delivered: 1, PartnerFault: 3}}}, status[0].Hours)
	require.Equal(t, gatewaytest.Noon.Add(model.DeliveryWindow), status[0].LostAt)
	require.NotNil(t, status[1].Hours)
	require.Empty(t, get[api.GatewayStatus](b, "/v1/status?hours=1").Integrations[0].Hours, "the present one begins at noon")
	for _, hours := range []string{"0", "49", "all"} {
		require.Contains(t, b.problem(http.MethodGet, "/v1/status?hours="+hours, "", http.StatusBadRequest),
			"hours must be a number from 1 to 48")
	}
	shown = get[map[string]any](b, "/v1/tenants/acme/integrations/own/health?since=2026-11-01T00:00:00Z")
	require.Len(t, shown["hours"], 1)
	require.Equal(t, "configured", shown["state"])
	require.Contains(t, b.problem(http.MethodGet, "/v1/tenants/acme/integrations/hris/health?since=1h", "",
		http.StatusBadRequest), "since must be a time")
	require.Contains(t, b.problem(http.MethodGet, "/v1/tenants/acme/integrations/nothing/health", "",
		http.StatusNotFound), "no integration of that name")

	out, _, err = b.cli("integration", "show", "acme/hris")
	require.NoError(t, err)
	for _, line := range []string{`state +failing`, `since +2026-11-20T11:58:01Z \(\w+ ago\)`,
		`reason +no connection could be made`,
		`waiting +2`, `failures in a row +3`, `24 h +4 attempts, 25 % delivered, p50 .*`,
		`2026-11-20T11:00:00Z \(\w+ ago\) +4 +25 % .*`} {
		require.Regexp(t, `(?m)^`+line+`$`, out)
	}
	out, _, err = b.cli("status")
	require.NoError(t, err)
	lines := strings.Split(out, "\n")
	require.Equal(t, "acme/hris: it is failing, 3 times in a row: no connection could be made; exports wait for it: 2",
		lines[0])
	require.Equal(t, "  hiregate integration show acme/hris", lines[1])
	require.Regexp(t, `^acme/hris +failing +2026-11-20T11:58:01Z \(\w+ ago\) +2 `, lines[5], "the worst is the first")
	out, _, err = b.cli("status", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"needs":[{"kind":"integration_failing","tenant":"acme","integration":"hris",`+
		`"since":"2026-11-20T11:58:01Z","count":2,"lostAt":"2026-11-23T12:00:00Z","sentence":"acme/hris: it is failing, `)
	out, _, err = b.cli("integration", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^acme/hris +failing +2026-11-20T11:58:01Z \(\w+ ago\) +2 +2026-11-20T12:00:00Z `+
		`\(\w+ ago\) +2026-11-20T11:58:00Z `, out)
	b.requireCleanLog()
}

// An integration that answers 422 to everything is no green one, whatever its breaker says; one refused body is the
// body's fault.
func TestHealthOfAnIntegrationThatRefusesEverything(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.t = t
		b.configured()
		for _, at := range [][2]string{{"acme", "hris"}, {"acme", "crm"}, {"globex", "hris"}} {
			b.attempts(at[0], at[1], gatewaytest.Noon.Add(-time.Hour), "", "", "")
		}
		refused := slices.Repeat([]model.Class{model.ClassDataFault}, 15)
		b.attempts("acme", "crm", gatewaytest.Noon.Add(-time.Minute), refused[:1]...)
		b.attempts("acme", "hris", gatewaytest.Noon.Add(-time.Minute), refused[:9]...)
		require.Empty(t, get[struct{ Needs []model.Need }](b, "/v1/status").Needs)
		b.attempts("acme", "hris", gatewaytest.Noon.Add(-50*time.Second), refused[9:]...)

		shown := get[map[string]any](b, "/v1/tenants/acme/integrations/hris/health")
		require.Equal(t, "refusing", shown["state"])
		require.Equal(t, "2026-11-20T11:59:00Z", shown["since"])
		require.Equal(t, "refuses what it gets since 11:59 UTC: 15 of 15 answered 422", shown["reason"])
		require.Equal(t, map[string]any{"state": "closed"}, shown["breaker"])
		require.Equal(t, []model.Need{{Kind: model.NeedRefusing, Tenant: "acme", Integration: "hris",
			Since: gatewaytest.Noon.Add(-time.Minute), Action: "hiregate integration show acme/hris",
			Sentence: "acme/hris: refuses what it gets since 11:59 UTC: 15 of 15 answered 422"}},
			get[struct{ Needs []model.Need }](b, "/v1/status").Needs)
		shown = get[map[string]any](b, "/v1/tenants/acme/integrations/crm/health")
		require.Equal(t, "configured", shown["state"])

		b.attempts("acme", "hris", gatewaytest.Noon, "", "", "")
		require.Empty(t, get[struct{ Needs []model.Need }](b, "/v1/status").Needs)
		b.requireCleanLog()
	})
}

// Nobody is told that an integration delivers before it did.
func TestHealthOfAnIntegrationThatNeverDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured()
	for at, reason := range map[string]string{"hris": "verified, nothing sent yet",
		"own": "verify off: it is trusted without VERIFY; nothing sent yet"} {
		shown := get[map[string]any](b, "/v1/tenants/acme/integrations/"+at+"/health")
		require.Equal(t, []any{"unproven", reason}, []any{shown["state"], shown["reason"]})
	}
	require.Empty(t, get[struct{ Needs []model.Need }](b, "/v1/status").Needs)
	b.attempts("acme", "hris", gatewaytest.Noon, model.ClassPartnerFault)
	shown := get[map[string]any](b, "/v1/tenants/acme/integrations/hris/health")
	require.Equal(t, []any{"unproven", "nothing was received yet: no connection could be made"},
		[]any{shown["state"], shown["reason"]})
	b.attempts("acme", "hris", gatewaytest.Noon, "")
	require.Equal(t, "configured", get[map[string]any](b, "/v1/tenants/acme/integrations/hris/health")["state"])
}

// A status has what no integration is to blame for, too, and of what its key may see alone.
func TestStatusSaysWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured()
	type answer struct {
		Needs        []model.Need
		Integrations []struct{ Tenant, Name, State string }
	}
	require.Empty(t, get[answer](b, "/v1/status").Needs)
	_, _, err := b.cli("status", "--check")
	require.NoError(t, err)
	b.export("acme", "broken", quarantined)
	gone := b.export("acme", "gone")
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(gone.ID, 0, gatewaytest.Noon, "removed-block") })
	overdue := b.export("acme", "overdue")
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(overdue.ID, 0, gatewaytest.Noon, "hris") })
	waiting := b.export("globex", "u-1")
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.BeginRound(waiting.ID, []string{"hris"}, gatewaytest.Noon, gatewaytest.Noon.Add(time.Hour))
		return err
	})
	orphan := inbox.NewExport("nobody", "u-1", []byte("{}"), gatewaytest.Noon)
	b.Write(t, func(tx *store.Tx) error {
		_, err := inbox.Insert(tx, orphan)
		return err
	})
	b.Clock.Advance(2 * time.Hour)
	shown := get[answer](b, "/v1/status")
	require.Equal(t, []model.Need{
		{Kind: model.NeedOverdue, Tenant: "acme", Integration: "hris", Count: 1, LostAt: gatewaytest.Noon.Add(model.DeliveryWindow),
			Sentence: "acme/hris: the next attempt of some of its exports should have been made by now; they go on by themselves where " +
				"the gateway is busy: see what they wait for if they stay; exports wait for it: 1",
			Action: "hiregate export list --undelivered --tenant acme --integration hris"},
		{Kind: model.NeedUnknown, Tenant: "acme", Integration: "removed-block", Since: gatewaytest.Noon, Count: 1,
			LostAt: gatewaytest.Noon.Add(model.DeliveryWindow),
			Sentence: "acme/removed-block: it is not in this gateway's configuration; what waits for it goes out " +
				"once it is there again; exports wait for it: 1",
			Action: "hiregate export list --undelivered --tenant acme --integration removed-block"},
		{Kind: model.NeedUndelivered, Tenant: "globex", Integration: "hris", Since: gatewaytest.Noon, Count: 1,
			LostAt:   gatewaytest.Noon.Add(time.Hour),
			Sentence: "globex/hris: some of its exports wait for more than an hour; exports wait for it: 1",
			Action:   "hiregate export list --undelivered --tenant globex --integration hris"},
		{Kind: model.NeedUndispatched, Tenant: "globex", Since: gatewaytest.Noon,
			Sentence: "globex: exports wait for Temporal since 2026-11-20T12:00:00Z; see whether it runs",
			Action:   "hiregate healthcheck"},
		{Kind: model.NeedUndispatched, Tenant: "nobody", Since: gatewaytest.Noon,
			Sentence: "nobody: exports wait since 2026-11-20T12:00:00Z: the tenant is not in this gateway's configuration",
			Action:   "hiregate export list --undelivered --tenant nobody"},
		{Kind: model.NeedQuarantine, Tenant: "acme", Since: gatewaytest.Noon, Count: 1,
			Sentence: "acme: exports in quarantine, since they break the schema: 1",
			Action:   "hiregate export list --quarantined --tenant acme"},
	}, shown.Needs)
	require.Len(t, shown.Integrations, 5)
	for _, arguments := range [][]string{{"status", "--check"}, {"status", "--check", "--json"}} {
		out, _, err := b.cli(arguments...)
		require.EqualError(t, err, "things that need you: 6")
		require.Contains(t, out, "nobody: exports wait since")
	}

	k := b.keyed()
	shown = get[answer](k.as(k.key("k-1", "globex", model.Viewer)), "/v1/status")
	require.Len(t, shown.Needs, 2)
	require.Len(t, shown.Integrations, 1)
}

// An export that can't be read in the store needs a person once, however many integrations it has, until it is
// redelivered or erased.
func TestStatusCountsUnreadableExports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured()
	e := b.export("acme", "u-1")
	b.Write(t, func(tx *store.Tx) error {
		for _, integration := range []string{"hris", "crm"} {
			d := model.NewDelivery(e, integration, 0, gatewaytest.Noon)
			d.Fail(model.ClassOurFault, store.UnreadableReason)
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
		}
		return tx.MarkDispatched(e.ID, 0, gatewaytest.Noon, "hris", "crm")
	})
	needs := func() (found []model.Need) {
		for _, need := range get[struct{ Needs []model.Need }](b, "/v1/status").Needs {
			if need.Kind == model.NeedUnreadable {
				found = append(found, need)
			}
		}
		return found
	}
	require.Equal(t, []model.Need{{Kind: model.NeedUnreadable, Tenant: "acme", Since: gatewaytest.Noon, Count: 1,
		Sentence: "acme: exports that can't be read in the database, found in the last day: 1; restore it from a backup and " +
			"redeliver them, or have their candidates exported again",
		Action: "hiregate export list --outcome failed --class our_fault --tenant acme"}}, needs())
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.BeginRound(e.ID, []string{"hris"}, gatewaytest.Noon, gatewaytest.Noon.Add(time.Hour))
		return err
	})
	require.Empty(t, needs())
}

// A database that says that it is damaged is the first thing that needs a person, also where the rest of the status
// can't be read any more.
func TestStatusNamesADamagedDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	storetest.Damage(t, filepath.Join(b.Folder, "hiregate.db"), "integration_health")
	require.NoError(t, b.Runtime.Store().Ping(t.Context())) // what is in memory is read again
	_, err := b.Runtime.Store().ListHealth(t.Context())
	require.ErrorContains(t, err, "malformed")
	out, _, err := b.cli("status")
	require.NoError(t, err)
	require.Contains(t, out, "the database")
	require.Contains(t, out, "database disk image is malformed")
}
