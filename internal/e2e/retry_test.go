package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// hourlyRetries lets what is not received wait for an hour.
const hourlyRetries = "integration hris {\nurl http://PARTNER/inbound?client=acme\nsecret " + outboundSecret +
	"\nretry 1h\n}"

// TestBacklogLeavesAfterAnOutage has two gateways keep a thousand exports through an outage, of which each waits for an
// hour. The first one that is received pulls the others, the oldest first: groups, and some that have a workflow of their
// own.
func TestBacklogLeavesAfterAnOutage(t *testing.T) {
	t.Parallel()
	const exports, single = 1000, 10
	s := newSystemWith(t, setup{database: storetest.Postgres(t), documents: "file:" + t.TempDir(), tenant: hourlyRetries})
	var status atomic.Int64
	status.Store(http.StatusNotFound) // it opens no breaker, so each of them is tried
	partner := s.startRecorder(func(event string, _ int) int {
		if event == "VERIFY" {
			return http.StatusOK
		}
		return int(status.Load())
	})
	s.gateway.line("integration configured")
	s.startNode()
	for n := range single {
		s.awaitOutcome(s.accepted(minimal(fmt.Sprint("single-", n))), "retrying")
	}
	acceptAll(t, s.database, minimals("backlog-", exports))
	require.Eventually(t, func() bool { return len(partner.uuids()) == exports+single }, 4*time.Minute,
		200*time.Millisecond, "not all were tried")
	order := byAge(t, s.database)
	require.Len(t, order, exports+single)
	status.Store(http.StatusServiceUnavailable)
	s.awaitOutcome(s.accepted(minimal("down")), "retrying")
	status.Store(http.StatusOK)
	tried := len(partner.of("CANDIDATE-EXPORT"))
	began := time.Now()
	s.awaitOutcome(s.accepted(minimal("up")), "delivered")

	var got []string
	require.Eventually(t, func() bool {
		got = nil
		for _, r := range partner.of("CANDIDATE-EXPORT")[tried:] {
			if slices.Contains(order, r.id) {
				got = append(got, r.id)
			}
		}
		return len(got) >= len(order)
	}, 15*time.Minute, time.Second, "they wait for the next hour")
	t.Logf("%d exports left within %v", len(got), time.Since(began).Round(time.Second))
	require.ElementsMatch(t, order, got, "each once")
	page := model.CatchUpPage(new(model.Integration))
	for at, key := range got {
		require.InDelta(t, slices.Index(order, key), at, float64(2*page), "the oldest are first")
	}
}

// Whoever tries all while the partner is still broken tries the oldest, and delays none of them. Once it is repaired all go.
func TestTryingAllDelaysNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, hourlyRetries)
	var status atomic.Int64
	status.Store(http.StatusNotFound)
	partner := s.startRecorder(func(event string, _ int) int {
		if event == "VERIFY" {
			return http.StatusOK
		}
		return int(status.Load())
	})
	s.gateway.line("integration configured")
	var ids []string
	var planned []time.Time
	for n := range 15 {
		ids = append(ids, s.accepted(minimal(fmt.Sprint("c-", n))))
		planned = append(planned, s.awaitOutcome(ids[n], "retrying").Deliveries[0].NextAt)
	}
	status.Store(http.StatusServiceUnavailable)
	out, err := s.run("integration", "retry", "acme/hris")
	require.Error(t, err, out)
	require.Contains(t, out, "0 of 15 exports were received, 1 failed again: the oldest was answered 503; the other 14 keep "+
		"their next attempts")
	out, err = s.run("export", "redeliver", "acme/"+ids[7])
	require.Error(t, err, out)
	require.Eventually(t, func() bool { return len(partner.of("CANDIDATE-EXPORT")) == 17 }, patience, 100*time.Millisecond)
	for n, id := range ids {
		var e shown
		tried := n == 0 || n == 7
		require.Eventually(t, func() bool {
			e, _ = s.show(id)
			return len(e.Deliveries) == 1 && (!tried || len(e.Deliveries[0].Attempts) == 2)
		}, patience, 100*time.Millisecond)
		require.Equal(t, planned[n], e.Deliveries[0].NextAt, n)
		require.Equal(t, tried, len(e.Deliveries[0].Attempts) == 2 && e.Deliveries[0].Attempts[1].Manual, n)
	}
	status.Store(http.StatusOK)
	require.Contains(t, s.cli("integration", "retry", "acme/hris"), "15 of 15 exports were received, 0 failed again")
}

// byAge returns the keys of all exports of a database, the oldest first.
func byAge(t *testing.T, address string) (keys []string) {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for before := int64(0); ; {
		page, next, err := db.ListExports(t.Context(), store.ExportFilter{Cursor: before, Limit: store.MaxPage})
		require.NoError(t, err)
		for _, e := range page {
			keys = append(keys, e.Key)
		}
		if before = next; next == 0 {
			slices.Reverse(keys)
			return keys
		}
	}
}
