package receiver_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/schemas"
)

// A body waits for the memory to validate it while others of its tenant have it. Other tenants have memory of their
// own.
func TestValidationsShareMemory(t *testing.T) {
	t.Parallel()
	risen := counters(t, "hiregate_received_total", "thrifty")
	b := newFixture(t, gatewaytest.Tenant("thrifty"), gatewaytest.Tenant("globex"))
	ours := request{path: "/hooks/thrifty", secret: "thrifty-secret", uuid: "u-1"}
	require.True(t, b.Runtime.Validations.TryAcquire("thrifty", gateway.ValidationMemory/2))

	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- b.send(ours) }()
	requireReceipt(t, b.send(request{path: "/hooks/globex", secret: "globex-secret"}), http.StatusAccepted)
	b.Runtime.Validations.Release("thrifty", gateway.ValidationMemory/2)
	requireReceipt(t, <-answered, http.StatusAccepted)

	require.True(t, b.Runtime.Validations.TryAcquire("thrifty", gateway.ValidationMemory/2))
	for _, event := range []string{"", "VERIFY"} {
		ours.event = event
		requireProblem(t, b.send(ours), http.StatusServiceUnavailable, busy, "Retry-After", "5")
	}
	b.Runtime.Validations.Release("thrifty", gateway.ValidationMemory/2)
	require.Zero(t, b.Runtime.Validations.Used())
	got := risen()
	maps.DeleteFunc(got, func(_ string, times float64) bool { return times == 0 })
	require.Equal(t, map[string]float64{"busy": 2, "accepted": 1}, got)
}

// The limits are those of the handler, and what is beyond them is refused with a sentence, in quarantine as well.
func TestLimitsOfTheJSON(t *testing.T) {
	t.Parallel()
	acme := gatewaytest.Tenant("acme")
	acme.Quarantine = true
	b := newFixture(t, acme)
	list := func(n int) []byte {
		return []byte(strings.Replace(string(minimal), `{`,
			`{"more":[`+strings.TrimSuffix(strings.Repeat("1,", n), ",")+`],`, 1))
	}
	require.Equal(t, http.StatusAccepted, b.send(request{body: list(2_000)}).Code)
	got := b.send(request{body: list(2_001)})
	require.Equal(t, http.StatusBadRequest, got.Code)
	require.Contains(t, got.Body.String(), "An array has more than 2,000 elements; send fewer.")

	b.Limits = schemas.Limits{Values: 100, Items: 1_000}
	got = b.send(request{body: list(100)})
	require.Equal(t, http.StatusBadRequest, got.Code)
	require.Contains(t, got.Body.String(), "The body has more than 100 values; send less in one document.")
	require.Zero(t, b.Runtime.Validations.Used())
}

// However large a body may be, it finds memory to be validated where its tenant is alone.
func TestLargestBodyIsValidated(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.MaxBody, b.Limits = 20<<20, schemas.Most
	b.Runtime.Unverified.Configure(64<<20, time.Minute)
	body := fmt.Appendf(nil, `{"large":%q,%s`, strings.Repeat("long", 4<<20), minimal[1:])
	require.Equal(t, http.StatusAccepted, b.send(request{body: body}).Code)
}
