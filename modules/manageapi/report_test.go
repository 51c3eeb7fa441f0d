package manageapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// Who did what to what is in the log, by ids, and nothing of a person.
func TestTheLogTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	k := b.as(b.key("k-1", "", model.Admin))
	type fields = map[string]any
	k.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{}`)
	k.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech"}`)
	k.must(http.StatusOK, http.MethodGet, "/v1/tenants/initech", "")
	k.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/initech", `{"invalid":"x"}`)
	k.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-1",
		`{"name":{"given":"Zoë"},"email":["zoe@example.com"]}`)
	k.must(http.StatusOK, http.MethodGet, acme+"/candidates/c-1", "")
	k.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/a-1", `{"candidate":"c-1"}`)
	k.must(http.StatusCreated, http.MethodPost,
		acme+"/job-applications/a-1/documents?id=d-1&fileName=zoe.pdf&description=Zo%C3%AB", "%PDF-1.7", "Content-Type",
		"application/pdf")
	b.delivery(b.export("acme", "u-1"), "hris", model.Failed, 500)
	k.must(http.StatusNoContent, http.MethodDelete, acme+"/job-applications/a-1/documents/d-1", "")
	for range 2 { // the second is told what the first was
		k.must(http.StatusAccepted, http.MethodPost, acme+"/exports/u-1/redeliver", "", "Idempotency-Key", "i-1")
	}
	quarantined := b.export("acme", "u-2", func(e *model.Export) { e.Quarantined, e.Findings = true, []byte(`[]`) })
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(quarantined.ID, 0, b.Clock.Now()) })
	k.must(http.StatusAccepted, http.MethodPost, acme+"/exports/u-2/release", "")
	k.must(http.StatusOK, http.MethodGet, acme+"/exports?candidate=c-u-1", "")

	var told []fields
	for _, entry := range b.Logged.All() {
		f := entry.ContextMap()
		if f["actor"] == nil {
			continue // of another package
		}
		require.Equal(t, zapcore.InfoLevel, entry.Level)
		require.Equal(t, "k-1", f["actor"])
		delete(f, "actor")
		f["message"] = entry.Message
		told = append(told, f)
	}
	require.Equal(t, []fields{
		{"message": "tenant created", "request": "PUT /v1/tenants/{tenant}", "tenant": "initech", "kind": "tenants",
			"id": "initech", "made": "/v1/tenants/initech"},
		{"message": "tenant changed", "request": "PUT /v1/tenants/{tenant}", "tenant": "initech", "kind": "tenants",
			"id": "initech"},
		{"message": "candidate created", "request": "PUT /v1/tenants/{tenant}/candidates/{id}", "tenant": "acme",
			"kind": "candidates", "id": "c-1", "made": acme + "/candidates/c-1"},
		{"message": "candidate read", "request": "GET /v1/tenants/{tenant}/candidates/{id}", "tenant": "acme",
			"kind": "candidates", "id": "c-1"},
		{"message": "job application created", "request": "PUT /v1/tenants/{tenant}/job-applications/{id}",
			"tenant": "acme", "kind": "job-applications", "id": "a-1", "made": acme + "/job-applications/a-1"},
		{"message": "document created", "request": "POST /v1/tenants/{tenant}/job-applications/{id}/documents",
			"tenant": "acme", "kind": "job-applications", "id": "a-1", "made": acme + "/job-applications/a-1/documents/d-1"},
		{"message": "document removed", "request": "DELETE /v1/tenants/{tenant}/job-applications/{id}/documents/{document}",
			"tenant": "acme", "kind": "documents", "id": "a-1/d-1"},
		{"message": "redelivery created", "request": "POST /v1/tenants/{tenant}/exports/{uuid}/redeliver", "tenant": "acme",
			"kind": "exports", "id": "u-1"},
		{"message": "export released", "request": "POST /v1/tenants/{tenant}/exports/{uuid}/release", "tenant": "acme",
			"kind": "exports", "id": "u-2"},
		{"message": "exports read", "request": "GET /v1/tenants/{tenant}/exports", "tenant": "acme", "kind": "exports",
			"id": ""},
	}, told)
	for _, entry := range b.Logged.All() {
		require.NotRegexp(t, "(?i)zo[eë]", fmt.Sprint(entry.Message, entry.ContextMap()))
	}
}

// Each change has a message of its own, and each read of what is about people. A new route may need a word in log.go.
func TestEachRequestHasItsOwnLogMessage(t *testing.T) {
	t.Parallel()
	of := map[string]string{}
	for _, r := range manageapi.Routes() {
		if r.Method == http.MethodGet && !r.Personal {
			continue
		}
		message, request := r.Thing+" "+r.Verb, r.Method+" "+r.Path
		require.NotEmpty(t, r.Thing, request)
		if other, ok := of[message]; ok {
			require.Contains(t, []string{"exports read", "sessions read", "redelivery created", "export answers searched"}, message, "%s and %s", other, request)
		}
		of[message] = request
	}
}

// What is about people is marked as such in the table.
func TestReadsOfPeopleAreLogged(t *testing.T) {
	t.Parallel()
	free := map[string]bool{}
	for _, r := range manageapi.Routes() {
		if r.Method == http.MethodGet && !r.Personal {
			free[r.Path] = true
		}
	}
	require.Equal(t, map[string]bool{
		"/v1/tenants/{tenant}/submissions": true, "/v1/tenants/{tenant}/submissions/{id}": true,
		"/v1/tenants/{tenant}/apply-upstream": true, "/v1/overview": true, "/v1/export-counts": true, "/v1/tenants/{tenant}/export-counts": true,
		"/v1/failures": true, "/v1/strays": true, "/v1/tenants/{tenant}/exports/{uuid}/structure": true,
		"/v1/api-keys": true, "/v1/erasure-key": true, "/v1/api-keys/{id}": true, "/v1/tenants": true, "/v1/tenants/{tenant}": true,
		"/v1/integrations": true, "/v1/tenants/{tenant}/integrations": true, "/v1/tenants/{tenant}/integrations/{name}": true,
		"/v1/tenants/{tenant}/integrations/{name}/health": true, "/v1/status": true,
		"/v1/tenants/{tenant}/integrations/{name}/retry": true,
		"/v1/redeliveries": true, "/v1/tenants/{tenant}/redeliveries": true,
		"/v1/tenants/{tenant}/redeliveries/{id}": true,
		"/v1/tenants/{tenant}/signatures":        true,
		"/v1/tenants/{tenant}/received":          true,
		"/v1/tenants/{tenant}/events":            true, "/v1/tenants/{tenant}/event-subscriptions": true,
		"/v1/tenants/{tenant}/event-subscriptions/{id}": true,
		"/v1/tenants/{tenant}/jobs":                     true, "/v1/tenants/{tenant}/jobs/{id}": true,
		"/v1/tenants/{tenant}/steps": true, "/v1/tenants/{tenant}/steps/{step}/helper": true,
		"/v1/tenants/{tenant}/job-applications/{id}/transitions": true,
		"/v1/tenants/{tenant}/jobs/{id}/questions":               true, "/v1/tenants/{tenant}/jobs/{id}/received": true,
		"/v1/tenants/{tenant}/portals": true, "/v1/oauth-clients": true, "/v1/oauth-clients/{id}": true, "/v1/audit": true, "/v1/sign-in-refusals": true,
	}, free)
}

// A refused key is counted, and logged by its id where it has one, some times a minute. It runs alone: counters are
// the process's.
func TestRefusedKeysAreToldAndCounted(t *testing.T) {
	b := setup(t).keyed()
	revoked, acmes := b.key("k-1", "", model.Admin), b.key("k-2", "acme", model.Viewer)
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.RevokeAPIKey("k-1", b.Clock.Now())
		return err
	})
	before := refusedKeys(t)
	for range 15 {
		b.as("Bearer hgk_guessed").must(http.StatusUnauthorized, http.MethodGet, acme, "")
	}
	b.as("").must(http.StatusUnauthorized, http.MethodGet, acme, "")
	b.as(revoked).must(http.StatusUnauthorized, http.MethodPut, acme+"/candidates/c-1", `{}`)
	b.as(acmes).must(http.StatusForbidden, http.MethodPut, acme+"/candidates/c-1", `{}`)
	b.as(acmes).must(http.StatusNotFound, http.MethodGet, "/v1/tenants/globex", "")
	for reason, n := range map[string]float64{"unknown": 15, "missing": 1, "revoked": 1, "role": 1, "tenant": 1} {
		require.Equal(t, n, refusedKeys(t)[reason]-before[reason], reason)
	}
	told := b.Logged.FilterMessageSnippet("API key refused").FilterLevelExact(zapcore.WarnLevel)
	require.Equal(t, 10, told.FilterMessageSnippet("unknown").Len(), "whoever has no key fills the log")
	require.Equal(t, map[string]any{"actor": "", "request": "GET /v1/tenants/{tenant}"}, told.All()[0].ContextMap())
	require.Equal(t, 1, told.FilterMessageSnippet("revoked").FilterField(zap.String("actor", "k-1")).Len())
	require.Equal(t, 2, told.FilterField(zap.String("actor", "k-2")).Len())
	require.Zero(t, told.FilterMessageSnippet("missing").Len())
}

// refusedKeys are the counters of the management API, by reason.
func refusedKeys(t *testing.T) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(r))
	families, err := r.Gather()
	require.NoError(t, err)
	n := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "hiregate_keys_refused_total" && m.GetLabel()[0].GetValue() == "manage" {
				n[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return n
}
