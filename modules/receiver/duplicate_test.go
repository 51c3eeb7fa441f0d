package receiver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/metrics"
)

const badUUID = "the header X-Service-UUID must be 1 to 255 visible ASCII characters"

func TestSameUUIDAndBodyIsOneExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	first := b.send(request{uuid: "u-1"})
	want := requireReceipt(t, first, http.StatusAccepted)
	for range 3 {
		b.Clock.Advance(24 * time.Hour)
		again := b.send(request{uuid: "u-1", more: http.Header{"Link": {"https://elsewhere"}}})
		require.Equal(t, want, requireReceipt(t, again, http.StatusOK))
		require.Equal(t, first.Header(), again.Header())
		require.Equal(t, first.Body.Bytes(), again.Body.Bytes())
	}
	require.Len(t, b.Exports(t), 1)
}

func TestSameUUIDOtherBodyIsAConflict(t *testing.T) {
	t.Parallel()
	b := newFixture(t, gatewaytest.Tenant("conflicting"))
	of := func(body []byte) request {
		return request{path: "/hooks/conflicting", secret: "conflicting-secret", uuid: "u-1", body: body}
	}
	risen := counters(t, "hiregate_received_total", "conflicting")
	first := requireReceipt(t, b.send(of(minimal)), http.StatusAccepted)
	for _, body := range [][]byte{another(1), append(bytes.Clone(minimal), ' '), full} {
		requireProblem(t, b.send(of(body)), http.StatusConflict, conflict)
	}
	require.Equal(t, first, requireReceipt(t, b.send(of(minimal)), http.StatusOK))
	require.Len(t, b.Exports(t), 1)

	require.Equal(t, map[string]float64{"conflict": 3, "accepted": 1, "repeated": 1}, risen())
	warnings := b.Logged.FilterMessage("an X-Service-UUID came again with another body; it was refused")
	require.Equal(t, 3, warnings.FilterField(zap.String("tenant", "conflicting")).Len())
}

// counters tells by how much a tenant's counters of a name rise from now on, by result.
func counters(t *testing.T, name, tenant string) (risen func() map[string]float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	read := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		now := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				labels := map[string]string{}
				for _, label := range metric.GetLabel() {
					labels[label.GetName()] = label.GetValue()
				}
				if family.GetName() == name && labels["tenant"] == tenant {
					now[labels["result"]] += metric.GetCounter().GetValue()
				}
			}
		}
		return now
	}
	before := read()
	return func() map[string]float64 {
		now := read()
		for result := range now {
			now[result] -= before[result]
		}
		return now
	}
}

// The UUID is not covered by the signature: whoever overheard an export could send it again under another.
func TestSameBodyUnderAnotherUUIDIsCounted(t *testing.T) {
	t.Parallel()
	b := newFixture(t, gatewaytest.Tenant("overheard"), gatewaytest.Tenant("other"))
	of := func(tenant, uuid string) request {
		return request{path: "/hooks/" + tenant, secret: tenant + "-secret", uuid: uuid}
	}
	risen := counters(t, "hiregate_received_same_body_total", "overheard")
	first := requireReceipt(t, b.send(of("overheard", "u-1")), http.StatusAccepted)
	requireReceipt(t, b.send(of("overheard", "u-1")), http.StatusOK)
	requireReceipt(t, b.send(of("other", "u-2")), http.StatusAccepted)
	require.Zero(t, risen()[""], "the same under the same UUID, or at another tenant")
	second := requireReceipt(t, b.send(of("overheard", "u-2")), http.StatusAccepted)
	require.NotEqual(t, first.Receipt, second.Receipt)
	require.Equal(t, first.SHA256, second.SHA256)
	require.Equal(t, 1.0, risen()[""])
}

func TestUUIDIsOpaqueAndOfItsTenant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	seen := map[string]bool{}
	for n, uuid := range []string{"a", "A", "!", "~", "a/b", "a%2Fb", `"`, "a,b", "../..", strings.Repeat("x", 255),
		strings.Repeat("x", 254) + "y",
		"5B0C7D2E-0000-4000-8000-000000000001", "5b0c7d2e-0000-4000-8000-000000000001"} {
		got := requireReceipt(t, b.send(request{uuid: uuid, body: another(n)}), http.StatusAccepted)
		require.False(t, seen[got.Receipt])
		seen[got.Receipt] = true
		e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", uuid)
		require.NoError(t, err)
		require.Equal(t, uuid, string(e.UUID()))
	}
	requireReceipt(t, b.send(request{uuid: "a", body: full, path: "/hooks/globex", secret: "globex-secret"}),
		http.StatusAccepted)
}

func TestUUIDMustBeVisibleASCII(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, uuid := range []string{"", " ", "a b", " a", "a ", "a\t", "é", "\xff", "a\x00", "a\nb", "\x7f",
		strings.Repeat("x", 256), strings.Repeat("x", 1024)} {
		requireProblem(t, b.send(request{more: http.Header{"X-Service-UUID": {uuid}}}), http.StatusBadRequest, badUUID)
	}
	require.Empty(t, b.Exports(t))
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	atBound, over := strings.Repeat("é", 512), strings.Repeat("a", 1025)
	for n, name := range []string{"Link", "X-Service-Export-Context"} {
		requireReceipt(t, b.send(request{uuid: fmt.Sprint("u-", n), more: http.Header{name: {atBound}}}), http.StatusAccepted)
		for _, value := range []string{over, atBound + "a", strings.Repeat("a", 1<<20)} {
			requireProblem(t, b.send(request{more: http.Header{name: {value}}}), http.StatusBadRequest,
				"the header "+name+" is longer than 1024 bytes")
		}
	}
	requireProblem(t, b.send(request{uuid: over}), http.StatusBadRequest,
		"the header X-Service-UUID is longer than 1024 bytes")
	requireProblem(t, b.send(request{event: over}), http.StatusBadRequest, noEvent)
	require.Len(t, b.Exports(t), 2)
}

func TestHeadersMustBeThereOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, name := range []string{"Link", "X-Service-Export-Context", "X-Service-UUID"} {
		for _, values := range [][]string{{"a", "a"}, {"a", "b"}, {"", ""}, {"a", "b", "c"}} {
			requireProblem(t, b.send(request{more: http.Header{name: values}}), http.StatusBadRequest,
				"the header "+name+" is there more than once")
		}
	}
	require.Empty(t, b.Exports(t))
}

func TestHeadersAreKeptAsTheyCame(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n, value := range []string{"https://service.example/c/1", "<https://a>; rel=\"x\", <b>", "Zoë \xe9\xff", "%00",
		strings.Repeat("a", 1024)} {
		uuid := fmt.Sprint("u-", n)
		requireReceipt(t, b.send(request{uuid: uuid, more: http.Header{"Link": {value},
			"X-Service-Export-Context": {"job " + value[:len(value)/2]}}}), http.StatusAccepted)
		e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", uuid)
		require.NoError(t, err)
		require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
		require.Equal(t, []byte(value), e.Link)
		require.Equal(t, []byte("job "+value[:len(value)/2]), e.ExportContext)
		require.Equal(t, minimal, e.Body)
	}
	for uuid, more := range map[string]http.Header{"none": nil,
		"empty": {"Link": {""}, "X-Service-Export-Context": {""}}} {
		requireReceipt(t, b.send(request{uuid: uuid, more: more}), http.StatusAccepted)
		e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", uuid)
		require.NoError(t, err)
		require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
		require.Nil(t, e.Link, "a header that was absent was invented")
		require.Nil(t, e.ExportContext, "a header that was absent was invented")
	}
}

func TestWithoutUUIDTheBodyStandsInForTenMinutes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	first := requireReceipt(t, b.send(request{}), http.StatusAccepted)
	other := requireReceipt(t, b.send(request{body: another(1)}), http.StatusAccepted)
	require.NotEqual(t, first.Receipt, other.Receipt)
	requireReceipt(t, b.send(request{path: "/hooks/globex", secret: "globex-secret"}), http.StatusAccepted)
	requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted) // known by its UUID, it is none of these

	b.Clock.Advance(10*time.Minute - time.Microsecond)
	require.Equal(t, first, requireReceipt(t, b.send(request{}), http.StatusOK))
	b.Clock.Advance(time.Microsecond)
	later := requireReceipt(t, b.send(request{}), http.StatusAccepted)
	require.NotEqual(t, first.Receipt, later.Receipt)
	require.Equal(t, gatewaytest.Noon.Add(10*time.Minute), later.ReceivedAt)
	require.Equal(t, later, requireReceipt(t, b.send(request{}), http.StatusOK))

	for _, e := range b.Exports(t) {
		require.Equal(t, e.Key == "u-1", e.UUID() != nil, "a UUID was invented")
	}
	require.Len(t, b.Exports(t), 5)
}

func TestManyAtOnceWithOneUUIDAreOneExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	server := b.serve(t)
	const senders = 32
	post := func(body func(n int) []byte, uuid string) (count map[int]int) {
		count = map[int]int{}
		receipts := map[string]bool{}
		var mu sync.Mutex
		var group sync.WaitGroup
		start := make(chan struct{})
		for n := range senders {
			group.Go(func() {
				r := request{body: body(n), uuid: uuid}.make()
				r.URL.Scheme, r.URL.Host = "http", server.Listener.Addr().String()
				<-start
				answer, err := server.Client().Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				mu.Lock()
				defer mu.Unlock()
				count[answer.StatusCode]++
				if answer.StatusCode < 300 {
					receipts[answer.Header.Get("Location")] = true
				}
			})
		}
		close(start)
		group.Wait()
		require.Len(t, receipts, 1)
		return count
	}
	require.Equal(t, map[int]int{202: 1, 200: senders - 1}, post(func(int) []byte { return minimal }, "same"))
	require.Equal(t, map[int]int{202: 1, 200: senders - 1}, post(func(int) []byte { return full }, ""))
	require.Equal(t, map[int]int{202: 1, 409: senders - 1}, post(another, "different"))
	require.Len(t, b.Exports(t), 3)
}
