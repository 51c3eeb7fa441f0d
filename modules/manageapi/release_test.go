package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const findings = `[{"pointer":"/candidate/person","rule":"required","found":"absent"}]`

func quarantined(e *model.Export) { e.Quarantined, e.Findings = true, []byte(findings) }

// park parks a held delivery, as its workflow does when it ends.
func (b *fixture) park(d *model.Delivery) {
	b.t.Helper()
	d.Parked = true
	b.Write(b.t, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
}

func TestQuarantineIsListedAndShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "fine")
	b.export("acme", "broken", quarantined)
	b.export("globex", "broken", quarantined)
	require.Equal(t, []string{"acme/broken"}, get[listed](b, "/v1/tenants/acme/exports?quarantined=true").ids())
	require.Equal(t, []string{"globex/broken", "acme/broken"}, get[listed](b, "/v1/exports?quarantined=true").ids())
	e := get[map[string]any](b, "/v1/tenants/acme/exports/broken")
	require.Equal(t, true, e["quarantined"])
	require.Equal(t, []any{map[string]any{"pointer": "/candidate/person", "rule": "required", "found": "absent"}},
		e["findings"])
	require.NotContains(t, get[map[string]any](b, "/v1/tenants/acme/exports/fine"), "findings")
}

// What was parked begins the next round, in which everything goes on its way together; what waits at its gate stays in
// its own.
func TestReleaseFromQuarantine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1", quarantined)
	b.park(b.delivery(e, "hris", model.Held))
	b.park(b.delivery(e, "crm", model.Held))
	b.delivery(e, "own", model.Held)
	path := "/v1/tenants/acme/exports/u-1"
	require.Contains(t, b.problem(http.MethodPost, path+"/redeliver", "", http.StatusConflict),
		"hiregate export release acme/u-1")

	status, _, answer := b.ask(http.MethodPost, path+"/release", "")
	require.Equal(t, http.StatusAccepted, status, answer)
	require.JSONEq(t, `{"round":1,"released":["crm","hris","own"]}`, answer)
	kept, err := b.Runtime.Store().Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.False(t, kept.Quarantined)
	require.JSONEq(t, findings, string(kept.Findings))
	require.Equal(t, []string{"crm", "hris"}, kept.Integrations)
	require.WithinDuration(t, time.Now().Add(model.DeliveryWindow), kept.DeliverTill, time.Minute)
	deliveries, err := b.Runtime.Store().ListDeliveries(t.Context(), e.ID)
	require.NoError(t, err)
	for _, d := range deliveries {
		require.False(t, d.Parked)
		require.Equal(t, d.Integration != "own", d.Round == 1, d.Integration)
	}
	require.Contains(t, b.problem(http.MethodPost, path+"/release", "", http.StatusConflict), "not in quarantine")
}

func TestReleaseIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-1/release", "", http.StatusConflict),
		"not in quarantine")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-2/release", "", http.StatusNotFound),
		"no export of that UUID")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-1/release?force=1", "",
		http.StatusBadRequest), "no query parameters")
}

// An integration that is configured releases what is parked for it, but nothing that is in quarantine.
func TestConfiguredIntegrationPassesOverQuarantine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	fine, broken := b.export("acme", "fine"), b.export("acme", "broken", quarantined)
	for _, e := range []*model.Export{fine, broken} {
		b.park(b.delivery(e, "hris", model.Held))
	}
	require.NoError(t, b.Runtime.Releaser.TendHeld(t.Context()))
	require.NoError(t, b.Runtime.Releaser.Release(t.Context(), i))
	round := func(e *model.Export) int {
		kept, err := b.Runtime.Store().Export(t.Context(), e.ID)
		require.NoError(t, err)
		return kept.Round
	}
	require.Equal(t, 1, round(fine))
	require.Zero(t, round(broken), "it left quarantine by itself")
}

// The URLs of a triggered export's documents end when they end: until then a redelivery goes on to the same end,
// afterwards there is none.
func TestTriggeredExportKeepsItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	trigger := func(key string, end time.Time) *model.Export {
		e := b.export("acme", key, func(e *model.Export) {
			e.Origin, e.DocumentsTill, e.DeliverTill = model.Triggered, end, end
		})
		b.delivery(e, "hris", model.Expired, 500)
		return e
	}
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	e := trigger("u-1", end)
	hash := [32]byte{1}
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte(sourceURL),
			CreatedAt: end})
	})
	documents, err := b.Runtime.Store().ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error { return tx.InsertLink(hash, documents[0].ID, end) })
	status, _, answer := b.ask(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", `{"integrations":["hris"]}`)
	require.Equal(t, http.StatusAccepted, status, answer)
	kept, err := b.Runtime.Store().Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, kept.Round)
	require.Equal(t, end, kept.DeliverTill, "its end was moved")
	_, till, err := b.Runtime.Store().DocumentByLink(t.Context(), hash)
	require.NoError(t, err)
	require.Equal(t, end, till, "its documents can be had for longer")

	over := trigger("u-2", time.Now().Add(-time.Second))
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-2/redeliver", "", http.StatusConflict),
		"export the candidate again")
	kept, err = b.Runtime.Store().Export(t.Context(), over.ID)
	require.NoError(t, err)
	require.Zero(t, kept.Round)
}

func TestExportReleaseCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1", quarantined)
	b.park(b.delivery(e, "hris", model.Held))
	b.export("acme", "u-2")
	out, _, err := b.cli("export", "list", "--quarantined")
	require.NoError(t, err)
	require.Contains(t, out, "in quarantine, hris held")
	require.NotContains(t, out, "u-2")
	out, _, err = b.cli("export", "show", "acme/u-1")
	require.NoError(t, err)
	require.Regexp(t, `quarantine +it breaks the schema; release it with hiregate export release acme/u-1\n`, out)
	require.Regexp(t, `AT +RULE +FOUND\n/candidate/person +required +absent\n`, out)

	out, _, err = b.cli("export", "release", "acme/u-1")
	require.NoError(t, err)
	require.Equal(t, ""+
		"EXPORT    INTEGRATION  WHAT HAPPENS\n"+
		"acme/u-1  hris         released; it goes out now\n", out)
	_, _, err = b.cli("export", "release", "acme/u-1")
	require.ErrorContains(t, err, "not in quarantine")
	b.export("acme", "u-3", quarantined)
	out, _, err = b.cli("export", "release", "acme/u-3", "--json")
	require.NoError(t, err)
	require.Equal(t, `{"round":0,"released":[]}`+"\n", out)
	_, _, err = b.cli("export", "release")
	require.ErrorContains(t, err, "export release takes either exports")
}
