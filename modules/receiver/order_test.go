package receiver_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	tooMany   = "too many exports at once: send again after the time in Retry-After"
	longLink  = "the header Link is longer than 1024 bytes"
	afterDoc  = "at byte 2: Something follows the JSON document; send one document and nothing else."
	badExport = "the body breaks the schema of an export"
	conflict  = "an export with this UUID was accepted before, with another body: a new export needs a new UUID"
)

// checks are all checks in their order, each with what makes a request fail it and nothing else.
var checks = []struct {
	name   string
	fail   func(*request)
	status int
	detail string
}{
	{"method", func(q *request) { q.method = "PUT" }, http.StatusMethodNotAllowed, "this address takes POST only"},
	{"tenant", func(q *request) { q.path = "/hooks/nobody" }, http.StatusNotFound, nobody},
	{"cap", func(q *request) { q.body = append(bytes.Clone(q.body), bytes.Repeat([]byte(" "), 1<<20)...) },
		http.StatusRequestEntityTooLarge, tooLarge},
	{"encoding", func(q *request) { q.more.Set("Content-Encoding", "gzip") }, http.StatusUnsupportedMediaType, encoded},
	{"signature", func(q *request) { q.unsigned = true }, http.StatusUnauthorized, notOurs},
	{"event", func(q *request) { q.event = "-" }, http.StatusBadRequest, noEvent},
	{"rate", func(q *request) { q.path, q.secret = "/hooks/slow", "slow-secret" }, http.StatusTooManyRequests, tooMany},
	{"headers", func(q *request) { q.more.Set("Link", strings.Repeat("a", 1025)) }, http.StatusBadRequest, longLink},
	{"guard", func(q *request) { q.body = []byte("{}{}") }, http.StatusBadRequest, afterDoc},
	{"schema", func(q *request) { q.body = []byte("{}") }, http.StatusUnprocessableEntity, badExport},
	{"duplicate", func(q *request) { q.uuid, q.body = "seen", another(2) }, http.StatusConflict, conflict},
}

// Of any two checks that a request fails, the one that comes first answers.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	slow := gatewaytest.Tenant("slow")
	slow.Rate = &model.Rate{PerSecond: 0.001, Burst: 1}
	b := newFixture(t, gatewaytest.Tenant("acme"), slow)
	b.MaxBody = 1 << 20
	requireReceipt(t, b.send(request{uuid: "seen"}), http.StatusAccepted)
	requireReceipt(t, b.send(request{uuid: "seen", path: "/hooks/slow", secret: "slow-secret"}), http.StatusAccepted)

	for i, first := range checks {
		for _, second := range checks[i:] {
			q := request{body: minimal, more: http.Header{}, uuid: "u-1"}
			second.fail(&q)
			first.fail(&q)
			got := b.send(q)
			require.Equal(t, first.status, got.Code, "%s and %s: %s", first.name, second.name, got.Body)
			require.Contains(t, got.Body.String(), `"detail":"`+first.detail+`"`, "%s and %s", first.name, second.name)
		}
	}
	require.Len(t, b.Exports(t), 2)
}

func TestRateIsOfSignedExportsOnly(t *testing.T) {
	t.Parallel()
	slow := gatewaytest.Tenant("slow")
	slow.Rate = &model.Rate{PerSecond: 0.5, Burst: 2}
	b := newFixture(t, slow, gatewaytest.Tenant("acme"))
	of := func(uuid string) request { return request{path: "/hooks/slow", secret: "slow-secret", uuid: uuid} }

	for range 10 { // none of these counts
		unsigned, noEvent := of("u-0"), of("u-0")
		unsigned.unsigned, noEvent.event = true, "-"
		b.send(unsigned)
		b.send(noEvent)
	}
	requireReceipt(t, b.send(of("u-1")), http.StatusAccepted)
	requireReceipt(t, b.send(of("u-2")), http.StatusAccepted)
	for range 3 { // a refused one makes nobody wait longer
		requireProblem(t, b.send(of("u-3")), http.StatusTooManyRequests, tooMany, "Retry-After", "2")
	}
	b.Clock.Advance(1500 * 1e6)
	requireProblem(t, b.send(of("u-3")), http.StatusTooManyRequests, tooMany, "Retry-After", "1")

	for range 5 {
		got := b.send(request{path: "/hooks/slow", secret: "slow-secret", event: "VERIFY", body: verify})
		require.Equal(t, http.StatusOK, got.Code, "VERIFY was counted")
	}
	requireReceipt(t, b.send(request{}), http.StatusAccepted) // acme is another one, without a limit

	b.Clock.Advance(500 * 1e6)
	requireReceipt(t, b.send(of("u-3")), http.StatusAccepted)
	requireProblem(t, b.send(of("u-4")), http.StatusTooManyRequests, tooMany, "Retry-After", "2")
}
