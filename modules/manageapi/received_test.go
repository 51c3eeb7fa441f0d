package manageapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
)

// Status and tenant say what was refused or deviated, to those who may see the tenant: only refusals need a person.
func TestRefusalsAndDeviationsAreShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured()
	noon := gatewaytest.Noon
	for range 2 {
		b.Runtime.Remarks.Deviation("acme", "web_array", "/candidate/person/communication/web", noon)
	}
	b.Runtime.Remarks.Flush()
	deviation := api.Remark{Tenant: "acme", Kind: model.DeviationAccepted, Name: "web_array", Note: "web is an array", Count: 2,
		Since: noon, Last: noon, Pointer: "/candidate/person/communication/web"}
	shown := get[api.GatewayStatus](b, "/v1/status")
	require.Empty(t, shown.Needs)
	require.Equal(t, []api.Remark{deviation}, shown.Deviations)
	out, _, err := b.cli("status", "--check")
	require.NoError(t, err)
	require.Contains(t, out, "Nothing needs you.\nacme: since 2026-11-20 12:00 UTC, 2 exports: web is an array, the last one at "+
		"/candidate/person/communication/web\n")

	b.Runtime.Remarks.Refused("acme", "invalid", "required", "/candidate/person/id", noon)
	b.Runtime.Remarks.Flush()
	refusal := api.Remark{Tenant: "acme", Kind: model.ExportRefused, Name: "invalid", Note: "required", Count: 1, Since: noon,
		Last: noon, Pointer: "/candidate/person/id"}
	require.Equal(t, []api.Remark{refusal, deviation}, get[api.ReceivedCounts](b, "/v1/tenants/acme/received").Remarks)
	require.Empty(t, get[api.ReceivedCounts](b, "/v1/tenants/globex/received").Remarks)
	out, _, err = b.cli("status", "--check")
	require.EqualError(t, err, "things that need you: 1")
	require.Contains(t, out, "required at /candidate/person/id")
	out, _, err = b.cli("tenant", "show", "acme")
	require.NoError(t, err)
	require.Regexp(t, `refused: invalid +since 2026-11-20 12:00 UTC, 1 export: required, the last one at /candidate/person/id`, out)
	require.Regexp(t, `deviation +since 2026-11-20 12:00 UTC, 2 exports: web is an array`, out)

	b.Runtime.Remarks.Received("acme", "signature", noon.Add(time.Minute))
	b.Runtime.Remarks.Received("acme", "accepted", noon)
	b.Runtime.Remarks.Flush()
	b.Runtime.Remarks.Received("acme", "signature", noon.Add(time.Hour))
	b.Runtime.Remarks.Flush()
	counted := get[api.ReceivedCounts](b, "/v1/tenants/acme/received")
	require.Equal(t, map[string]int64{"signature": 2, "accepted": 1}, counted.Results)
	require.Equal(t, noon, counted.Since)
	none := get[api.ReceivedCounts](b, "/v1/tenants/globex/received")
	require.Empty(t, none.Results)
	require.Zero(t, none.Since)

	require.Nil(t, get[api.ReceivedCounts](b, "/v1/tenants/acme/received").Verified)
	require.Regexp(t, `verified by its service +never`, out)
	b.Runtime.Remarks.Verified("acme", noon)
	b.Runtime.Remarks.Flush()
	b.Runtime.Remarks.Verified("acme", noon.Add(time.Hour))
	b.Runtime.Remarks.Flush()
	b.Clock.Advance(300 * 24 * time.Hour)
	require.Equal(t, &api.Verified{Count: 2, Since: noon, Last: noon.Add(time.Hour)},
		get[api.ReceivedCounts](b, "/v1/tenants/acme/received").Verified, "it is known for good, at each gateway")
	out, _, err = b.cli("tenant", "show", "acme")
	require.NoError(t, err)
	require.Regexp(t, `verified by its service +2026-11-20T13:00:00Z`, out)
	b.Clock.Advance(-300 * 24 * time.Hour)

	k := b.keyed()
	others := get[api.GatewayStatus](k.as(k.key("k-1", "globex", model.Viewer)), "/v1/status")
	require.Empty(t, others.Needs)
	require.Empty(t, others.Deviations)
}
