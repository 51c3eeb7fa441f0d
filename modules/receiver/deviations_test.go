package receiver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
)

// Exports as such services send them are accepted, kept byte for byte, and their deviations counted, each once.
func TestDeviationsAreAcceptedAndNoted(t *testing.T) {
	t.Parallel()
	b := newFixture(t, gatewaytest.Tenant("acme"))
	files, err := filepath.Glob("../../schemas/testdata/deviations/*.json")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		requireReceipt(t, b.send(request{uuid: filepath.Base(name), body: body}), http.StatusAccepted)
		e := b.Exports(t)[0]
		require.False(t, e.Quarantined)
		require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
		require.Equal(t, body, e.Body)
		require.Equal(t, http.StatusOK, b.send(request{uuid: filepath.Base(name), body: body}).Code)
	}
	require.Equal(t, []model.Remark{
		{Tenant: "acme", Kind: model.DeviationAccepted, Name: "datetime_form", Count: 1, First: gatewaytest.Noon,
			Last:    gatewaytest.Noon,
			Pointer: "/candidate/profiles/0/associatedPositionOpenings/0/candidateStatus/transitionDateTime"},
		{Tenant: "acme", Kind: model.DeviationAccepted, Name: "web_array", Count: 2, First: gatewaytest.Noon,
			Last: gatewaytest.Noon, Pointer: "/candidate/person/communication/web"},
	}, b.remarks(t, model.DeviationAccepted))
}

// A tenant may refuse deviations, or hold what has some; a fault beside one stays a fault.
func TestTenantsThatTakeNoDeviations(t *testing.T) {
	t.Parallel()
	strict, careful := gatewaytest.Tenant("strict"), gatewaytest.Tenant("careful")
	strict.Deviations, strict.Quarantine = model.RefuseDeviations, true
	careful.Deviations = model.QuarantineDeviations
	b := newFixture(t, strict, careful, gatewaytest.Tenant("acme"))
	deviating := []byte(strings.Replace(string(full), `"schemeId": "Service Candidate"`, `"schemeId": "Candidate"`, 1))
	faulty := []byte(strings.Replace(string(deviating), `"postalCode": "97205"`, `"postalCode": 97205`, 1))
	send := func(tenant string, body []byte) int {
		return b.send(request{path: "/hooks/" + tenant, secret: tenant + "-secret", body: body}).Code
	}
	got := b.send(request{path: "/hooks/strict", secret: "strict-secret", body: deviating})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), `"/candidate/person/id/schemeId"`)
	require.Empty(t, b.Exports(t))
	require.Equal(t, http.StatusAccepted, send("strict", faulty))
	require.True(t, b.Exports(t)[0].Quarantined)
	require.Equal(t, http.StatusAccepted, send("careful", deviating))
	require.True(t, b.Exports(t)[0].Quarantined)
	require.Contains(t, string(b.Exports(t)[0].Findings), `"/candidate/person/id/schemeId"`)
	require.Equal(t, http.StatusUnprocessableEntity, send("careful", faulty))
	require.Equal(t, http.StatusUnprocessableEntity, send("acme", faulty))
	require.Equal(t, http.StatusAccepted, send("acme", deviating))
	require.False(t, b.Exports(t)[0].Quarantined)
	noted := b.remarks(t, model.DeviationAccepted)
	require.Len(t, noted, 1)
	require.Equal(t, "acme", noted[0].Tenant)
}

// remarks returns what was noted of a kind.
func (b fixture) remarks(t *testing.T, kind model.RemarkKind) []model.Remark {
	t.Helper()
	b.Runtime.Remarks.Flush()
	all, err := b.Runtime.Store().ListRemarks(t.Context(), kind, "", b.Clock.Now())
	require.NoError(t, err)
	return all
}
