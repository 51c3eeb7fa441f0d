package receiver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/schemas"
)

// With the policy quarantine a body that breaks the schema is kept, whatever it lacks; without it, it is refused.
func TestBrokenSchemaGoesIntoQuarantine(t *testing.T) {
	t.Parallel()
	acme := gatewaytest.Tenant("acme")
	acme.Quarantine = true
	b := newFixture(t, acme, gatewaytest.Tenant("globex"))
	for n, body := range []string{
		`{}`, `[]`, `null`, `"text"`, `17`, `{"candidate":null}`, `{"candidate":[]}`,
		`{"candidate":{"person":{"id":"c-1"},"profiles":[]}}`,
		`{"candidate":{"person":{"id":{"value":17}},"profiles":[{"attachments":[{"url":17},null,{}]},null,7]}}`,
	} {
		got := b.send(request{uuid: fmt.Sprint("u-", n), body: []byte(body)})
		require.Equal(t, http.StatusAccepted, got.Code, body)
		at := got.Header().Get("Location")
		var status struct {
			Quarantined bool
			Deliveries  []any
		}
		require.NoError(t, json.Unmarshal(b.get(at).Body.Bytes(), &status))
		require.True(t, status.Quarantined, "its receipt does not tell")
		require.Equal(t, http.StatusOK, b.send(request{uuid: fmt.Sprint("u-", n), body: []byte(body)}).Code,
			"its repeat is no duplicate")
		e := b.Exports(t)[0]
		require.True(t, e.Quarantined)
		require.Empty(t, e.CandidateID)
		require.Zero(t, e.Attachments)
		var findings []schemas.Finding
		require.NoError(t, json.Unmarshal(e.Findings, &findings))
		require.NotEmpty(t, findings)
	}
	require.Len(t, b.Exports(t), 9)
	require.Equal(t, http.StatusUnprocessableEntity, b.send(request{path: "/hooks/globex", secret: "globex-secret",
		body: []byte(`{}`)}).Code)
	require.Equal(t, http.StatusBadRequest, b.send(request{uuid: "hostile", body: []byte(`{"a":1,"a":2}`)}).Code,
		"hostile JSON was kept")
	require.Len(t, b.Exports(t), 9)
}

// What can be found of the candidate and the documents is kept as of any export; findings hold nothing of the values.
func TestQuarantineKeepsWhatTheGuardFinds(t *testing.T) {
	t.Parallel()
	risen := counters(t, "hiregate_received_total", "tidy")
	tidy := gatewaytest.Tenant("tidy")
	tidy.Quarantine = true
	b := newFixture(t, tidy)
	send := func(uuid, body string) {
		got := b.send(request{path: "/hooks/tidy", secret: "tidy-secret", uuid: uuid, body: []byte(body)})
		require.Equal(t, http.StatusAccepted, got.Code)
		require.Equal(t, map[string]any{}, without(decode[map[string]any](t, got.Body.Bytes()), "receipt", "sha256",
			"receivedAt"))
	}
	send("u-1", strings.Replace(string(full), `"applyDate": "2026-10-02"`, `"applyDate": "Secret-Day"`, 1))
	e := b.Exports(t)[0]
	require.True(t, e.Quarantined)
	require.JSONEq(t, `[{"pointer":"/candidate/person/applyDate","rule":"date: YYYY-MM-DD","found":"string of 10 characters that is not a date"}]`, string(e.Findings))
	require.NotEmpty(t, e.CandidateID)
	require.Equal(t, 2, e.Attachments)
	for _, entry := range b.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "Secret-Day")
	}

	send("u-2", string(full))
	valid := b.Exports(t)[0]
	require.False(t, valid.Quarantined)
	require.Nil(t, valid.Findings)
	require.Equal(t, map[string]float64{"quarantined": 1, "accepted": 1}, risen())
}

func without(m map[string]any, names ...string) map[string]any {
	for _, name := range names {
		delete(m, name)
	}
	return m
}
