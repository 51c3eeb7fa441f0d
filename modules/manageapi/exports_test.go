package manageapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestShowHasAttemptsAndDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	d := b.delivery(e, "hris", model.Retrying, 500)
	b.Write(t, func(tx *store.Tx) error {
		d.Attempts = 2
		if err := tx.UpsertDelivery(d); err != nil {
			return err
		}
		if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: gatewaytest.Noon, Duration: 5 * time.Second,
			Error: "the connection was refused"}); err != nil {
			return err
		}
		for n := range 2 {
			if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", Position: n,
				SourceURL: []byte(sourceURL), CreatedAt: gatewaytest.Noon}); err != nil {
				return err
			}
		}
		return nil
	})
	documents, err := b.Runtime.Store().ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	fetched := documents[0]
	fetched.State, fetched.Tries, fetched.Size, fetched.Detected, fetched.FileName = model.Fetched, 1, 3,
		"application/pdf", fileName
	fetched.SHA256, fetched.FetchedAt = []byte{0xab, 0xcd}, gatewaytest.Noon.Add(3*time.Second)
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.UpdateDocument(fetched)
		return err
	})

	var shown map[string]json.RawMessage
	status, _, answer := b.ask(http.MethodGet, "/v1/tenants/acme/exports/u-1", "")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal([]byte(answer), &shown))
	require.JSONEq(t, `"export/acme/u-1"`, string(shown["workflow"]))
	require.JSONEq(t, `"https://temporal-ui.example.com/namespaces/default/workflows/export%2Facme%2Fu-1"`,
		string(shown["workflowUrl"]))
	require.JSONEq(t, `[{"integration":"hris","round":0,"current":true,"outcome":"retrying","class":"retrying","attempts":2,"updatedAt":"2026-11-20T12:00:02Z",
		"nextAt":"2026-11-20T12:01:00Z","history":[
			{"number":1,"startedAt":"2026-11-20T12:00:00Z","durationMs":1.5,"status":500,"class":"partner_fault",
				"answer":"what the partner answered","phases":{},"manual":false},
			{"number":2,"startedAt":"2026-11-20T12:00:00Z","durationMs":5000,"error":"the connection was refused",
				"answer":"","phases":{},"manual":false}]}]`, string(shown["deliveries"]))
	require.JSONEq(t, `[
		{"position":0,"state":"fetched","tries":1,"size":3,"mimeType":"application/pdf","sha256":"abcd","begunAt":"2026-11-20T12:00:00Z","fetchedAt":"2026-11-20T12:00:03Z"},
		{"position":1,"state":"fetching","tries":0,"size":0,"begunAt":"2026-11-20T12:00:00Z"}]`, string(shown["documents"]))
	b.requireCleanLog()
}

// The OpenAPI document knows all states of a document.
func TestShowHasADocumentThatIsScanned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	d := &model.ApplicationDocument{Key: 1, Tenant: "acme", Application: "a-1", ID: "d", Blob: "f", SHA256: []byte{1},
		CreatedAt: gatewaytest.Noon, Scan: model.ScanPending}
	b.Write(t, func(tx *store.Tx) error {
		if _, err := tx.InsertApplicationDocument(d); err != nil {
			return err
		}
		return tx.InsertOfferedDocument(d, e, 0, [32]byte{1})
	})
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/exports/u-1", "").body,
		`"state":"scanning"`)
}

func TestAnswersAreTextOfBoundedLength(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.delivery(b.export("acme", "u-1"), "hris", model.Failed)
	b.Write(t, func(tx *store.Tx) error {
		for _, answer := range []string{"caf\xe9 \x00", strings.Repeat("\xff", 64<<10), strings.Repeat("é", 32<<10)} {
			if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: gatewaytest.Noon, Status: 500,
				Answer: []byte(answer)}); err != nil {
				return err
			}
		}
		return nil
	})
	shown := get[struct {
		Deliveries []struct{ History []struct{ Answer string } }
	}](b, "/v1/tenants/acme/exports/u-1")
	history := shown.Deliveries[0].History
	require.Equal(t, "caf\uFFFD \x00", history[0].Answer)
	require.True(t, utf8.ValidString(history[1].Answer))
	require.LessOrEqual(t, len(history[1].Answer), 64<<10)
	require.Len(t, history[2].Answer, 64<<10)
}

// A short schedule makes thousands of attempts: the last ones are shown.
func TestTheLastAttemptsAreShown(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		const made, shown = 103, 100
		d := b.delivery(b.export("acme", "u-1"), "hris", model.Retrying)
		b.Write(t, func(tx *store.Tx) error {
			for range made {
				if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: gatewaytest.Noon,
					Status: 500}); err != nil {
					return err
				}
			}
			return nil
		})
		history := get[struct {
			Deliveries []struct{ History []struct{ Number int } }
		}](b, "/v1/tenants/acme/exports/u-1").Deliveries[0].History
		require.Len(t, history, shown)
		for n, a := range history {
			require.Equal(t, made-shown+1+n, a.Number)
		}
	})
}

func TestUUIDsAreOpaque(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, key := range []string{"a/b", "a//b", "..", ".", "a/../b", "50%", "%2F", "x?y#z", "redeliver", "u-1/redeliver",
		`"<&>"`} {
		b.export("acme", key)
		escaped := url.PathEscape(key)
		if strings.Trim(key, ".") == "" {
			escaped = strings.Repeat("%2E", len(key))
		}
		shown := get[struct{ ID string }](b, "/v1/tenants/acme/exports/"+escaped)
		require.Equal(t, key, shown.ID)
		require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/"+escaped+"/redeliver",
			`{"integrations":["nobody"]}`, http.StatusConflict), "nobody")
	}
}

func TestStatesOfDispatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waiting, faulty := b.export("acme", "waiting"), b.export("acme", "faulty")
	b.Write(t, func(tx *store.Tx) error {
		for _, e := range []*model.Export{waiting, faulty} {
			if err := tx.MarkDispatched(e.ID, 0, time.Time{}, "hris"); err != nil {
				return err
			}
		}
		return tx.MarkFault(faulty.ID, "Temporal refuses its workflow", gatewaytest.Noon)
	})
	list := get[listed](b, "/v1/exports")
	require.Equal(t, "fault", list.Items[0].State)
	require.Equal(t, "Temporal refuses its workflow", list.Items[0].Fault)
	require.Equal(t, "waiting", list.Items[1].State)
}

func TestRedeliverBeginsARound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.delivery(e, "hris", model.Failed, 500)
	b.delivery(e, "crm", model.Delivered, 200)

	status, _, answer := b.ask(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver",
		`{"integrations":["hris","hris"]}`)
	require.Equal(t, http.StatusAccepted, status, answer)
	require.JSONEq(t, `{"round":1,"started":["hris"]}`, answer)
	kept, err := b.Runtime.Store().Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, kept.Round)
	require.Equal(t, "export/acme/u-1/redelivery/1", kept.WorkflowID)
	require.Equal(t, []string{"hris"}, kept.Integrations)
	require.Zero(t, kept.DispatchedAt)
	require.WithinDuration(t, time.Now().Add(model.DeliveryWindow), kept.DeliverTill, time.Minute)
	require.Equal(t, "waiting", get[listed](b, "/v1/exports").Items[0].State)
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", "", http.StatusConflict),
		"waits for Temporal")
}

// What is on its way is shown before its first attempt has ended, and is not begun a second time.
func TestPendingIsShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.delivery(e, "hris", model.Delivered, 200)
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, gatewaytest.Noon, "hris", "crm") })
	type shown struct {
		Deliveries []struct{ Integration, Outcome string }
	}
	for _, e := range []shown{get[shown](b, "/v1/tenants/acme/exports/u-1"),
		get[struct{ Items []shown }](b, "/v1/exports").Items[0]} {
		require.Len(t, e.Deliveries, 2)
		require.Equal(t, "crm", e.Deliveries[0].Integration)
		require.Equal(t, "pending", e.Deliveries[0].Outcome)
	}
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", `{"integrations":["crm"]}`,
		http.StatusServiceUnavailable), "under way")
}

// What waits is found from its acceptance on, by its outcome and by its integration.
func TestPendingIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1", func(e *model.Export) { e.Integrations = []string{"crm", "hris"} })
	b.delivery(b.export("acme", "u-2", func(e *model.Export) { e.Integrations = []string{"hris"} }), "hris", model.Delivered, 200)
	for query, want := range map[string][]string{"/v1/exports?outcome=pending": {"u-1"},
		acme + "/exports?outcome=pending&integration=hris": {"u-1"}, acme + "/exports?outcome=pending&integration=own": {},
		acme + "/exports?integration=crm": {"u-1"}, "/v1/exports?undelivered=true": {"u-1"}} {
		require.Equal(t, want, ids(b, query), query)
	}
}

// Exports are found by the last attempt, by how many there were, and by how long they wait.
func TestExportsByTheirAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.delivery(b.export("acme", "u-1"), "hris", model.Failed, 422)
	b.delivery(b.export("acme", "u-2"), "hris", model.Retrying, 503)
	b.delivery(b.export("acme", "u-3"), "hris", model.Delivered, 200)
	for _, outcome := range []model.Outcome{model.Delivered, model.Failed} {
		d := b.delivery(b.export("acme", "again-"+string(outcome)), "hris", outcome)
		b.Write(t, func(tx *store.Tx) error { return tx.MarkRedelivery("r-1", d.ExportID, "hris", 0) })
	}
	b.Clock.Advance(2 * time.Hour)
	b.delivery(b.export("acme", "u-4", func(e *model.Export) { e.ID = model.FirstID(b.Clock.Now()) }), "hris", model.Retrying, 503)
	for query, want := range map[string][]string{"status=503": {"u-4", "u-2"}, "status=4xx": {"u-1"}, "status=none": {}, "attempts=1": {"u-4", "u-2", "u-1"},
		"attempts=9": {}, "status=503&order=oldest": {"u-2", "u-4"}, "waitingLonger=1h": {"u-2"}, "waitingLonger=1h&status=503": {"u-2"},
		"waitingLonger=1h&status=422": {}, "lateDocuments=true": {}, "status=5xx&outcome=failed": {}, "redelivery=r-1": {"again-failed", "again-delivered"},
		"redelivery=r-1&outcome=failed": {"again-failed"}, "redelivery=r-1&undelivered=true": {}, "redelivery=r-1&lostDocuments=true": {}, "redelivery=r-2": {}} {
		require.Equal(t, want, ids(b, acme+"/exports?"+query), query)
		require.EqualValues(t, len(want), get[api.ExportCounts](b, acme+"/export-counts?"+strings.TrimSuffix(query, "&order=oldest")).All.Count, query)
	}
	for query, want := range map[string]string{"status=": "5xx", "status=600": "5xx", "status=5": "5xx", "attempts=0": "attempts", "waitingLonger=1": "90m",
		"waitingLonger=-1h": "90m", "lateDocuments=yes": "true"} {
		require.Contains(t, b.problem(http.MethodGet, acme+"/exports?"+query, "", http.StatusBadRequest), want, query)
	}
}

func TestRedeliverToAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{"", "{}", `{"integrations":null}`} {
		key := "u" + url.PathEscape(body)
		b.delivery(b.export("acme", key), "hris", model.Delivered, 200)
		status, _, answer := b.ask(http.MethodPost, "/v1/tenants/acme/exports/"+url.PathEscape(key)+"/redeliver", body)
		require.Equal(t, http.StatusAccepted, status, answer)
		require.JSONEq(t, `{"round":1,"started":["hris","crm","own"]}`, answer)
	}
}

func TestRedeliverIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held := b.export("acme", "held")
	b.delivery(held, "hris", model.Held)
	b.export("idle", "nowhere")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/held/redeliver", "", http.StatusConflict),
		"hiregate integration enable acme/hris")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/held/redeliver",
		`{"integrations":["nobody"]}`, http.StatusConflict), `no integration "nobody"`)
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/idle/exports/nowhere/redeliver", "", http.StatusConflict),
		"has no integration")
	for _, body := range []string{`{`, `[]`, `"hris"`, `{"integrations":"hris"}`, `{"integration":["hris"]}`,
		`{"integrations":["hris"]} {}`, `{} x`} {
		require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/held/redeliver", body,
			http.StatusBadRequest), "the body")
	}
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/held/redeliver", `{"integrations":[]}`,
		http.StatusBadRequest), "name at least one")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/held/redeliver?force=1", "",
		http.StatusBadRequest), "no query parameters")
	kept, err := b.Runtime.Store().Export(t.Context(), held.ID)
	require.NoError(t, err)
	require.Zero(t, kept.Round)
}

func TestHurryingNeedsTemporal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.delivery(b.export("acme", "u-1"), "hris", model.Retrying, 500)
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", `{"integrations":["hris"]}`,
		http.StatusServiceUnavailable),
		"Temporal, which carries it, does not answer")
	b.requireCleanLog()
}

func TestExportsByTheBeginOfTheirUUID(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		for _, e := range []string{"acme/6f1c0f1e-5d0e", "globex/6f1c0f1e-aaaa", "globex/6f1c0f1e-x", "globex/6f1c0f1f"} {
			tenant, uuid, _ := strings.Cut(e, "/")
			b.export(tenant, uuid)
		}
		require.Len(t, ids(b, "/v1/exports?uuid=6f1c0f1e"), 3)
		require.Equal(t, []string{"6f1c0f1e-5d0e"}, ids(b, "/v1/exports?uuid=6f1c0f1e-5"))
		require.Contains(t, b.problem(http.MethodGet, "/v1/exports?uuid=6f1c", "", http.StatusBadRequest), "8 characters")
		require.Contains(t, b.problem(http.MethodGet, "/v1/exports?uuid=6f1c0f1e&outcome=failed", "",
			http.StatusBadRequest), "leave out outcome")
		keyed := b.keyed()
		k := keyed.as(keyed.key("k-1", "globex", model.Viewer))
		require.ElementsMatch(t, []string{"6f1c0f1e-aaaa", "6f1c0f1e-x"}, ids(k, "/v1/exports?uuid=6f1c0f1e"))
	})
}
