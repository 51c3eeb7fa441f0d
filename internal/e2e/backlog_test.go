package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// TestNodesShareABacklog has three gateways on one database find thousands of exports that wait: new ones, new ones
// after Temporal was away, and redeliveries. Each is started by one of them, but for few.
func TestNodesShareABacklog(t *testing.T) {
	t.Parallel()
	const exports, fewOf = 2000, 50
	s := newSystemWith(t, setup{database: storetest.Postgres(t), documents: "file:" + t.TempDir(),
		tenant: "integration hris {\nurl http://PARTNER/inbound\nsecret " + outboundSecret + "\nverify off\n}"})
	partner := s.startRecorder(ok)
	nodes := []*system{s, s.startNode(), s.startNode()}
	dispatched := func(result string) (n int) {
		for _, node := range nodes {
			n += int(node.metric("hiregate_dispatches_total", `result="`+result+`"`))
		}
		return n
	}
	arrives := 0
	shared := func(what string, exports int) {
		t.Helper()
		repeated := dispatched("repeated")
		arrives += exports
		require.Eventually(t, func() bool { return len(partner.of("CANDIDATE-EXPORT")) >= arrives }, 4*time.Minute,
			200*time.Millisecond, "exports did not arrive")
		repeated = dispatched("repeated") - repeated
		t.Logf("%s: %d exports, %d repeated", what, exports, repeated)
		require.LessOrEqual(t, repeated, exports/fewOf, what)
	}

	acceptAll(t, s.database, minimals("new-", exports))
	shared("new", exports)

	s.temporal.signal(syscall.SIGTERM)
	s.temporal.exitCode()
	acceptAll(t, s.database, minimals("away-", exports))
	for _, node := range nodes {
		node.gateway.line("exports wait for their workflow")
	}
	s.startTemporal()
	shared("after Temporal was away", exports)

	shared("redelivered", redeliverAll(t, s.database))
}

// redeliverAll has a page of exports redelivered, all at once and a while ago. It returns how many.
func redeliverAll(t *testing.T, address string) int {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	page, _, err := db.ListExports(t.Context(), store.ExportFilter{Limit: store.MaxPage})
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		for _, e := range page {
			if _, err := tx.BeginRound(e.ID, []string{"hris"}, time.Now().Add(-5*time.Second), e.DeliverTill); err != nil {
				return err
			}
		}
		return nil
	}))
	return len(page)
}

// waiting is an export that came a while ago, so that the next sweep finds it.
func waiting(key string, body []byte) *model.Export {
	return inbox.NewExport("acme", key, body, time.Now().Add(-5*time.Second))
}

// acceptAll stores exports as the receiver does, but hundreds at once.
func acceptAll(t *testing.T, address string, exports []*model.Export) {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, e := range exports {
		require.NoError(t, db.SealBody(e))
	}
	for part := range slices.Chunk(exports, 200) { // a transaction has an end
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for _, e := range part {
				if _, err := inbox.Insert(tx, e); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// minimals are so many exports that wait.
func minimals(prefix string, n int) (all []*model.Export) {
	for at := range n {
		key := fmt.Sprint(prefix, at)
		all = append(all, waiting(key, minimal(key)))
	}
	return all
}

// TestNodesShareABurst has one of three gateways accept all exports of a burst. The others deliver a good part of them:
// two thirds on average, since who takes a group is chance.
func TestNodesShareABurst(t *testing.T) {
	t.Parallel()
	const exports, senders, least = 4000, 16, 800
	var came atomic.Int64
	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(200 * time.Millisecond) // so that in_flight bounds a node, whatever the machine can do
		came.Add(1)
	}))
	t.Cleanup(partner.Close)
	s := newSystemWith(t, setup{database: storetest.Postgres(t), documents: "file:" + t.TempDir(),
		tenant: "integration hris {\nurl " + partner.URL + "/inbound\nsecret " + outboundSecret + "\nverify off\n}"})
	nodes := []*system{s, s.startNode(), s.startNode()}
	began := time.Now()
	var next atomic.Int64
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for n := next.Add(1); n <= exports; n = next.Add(1) {
				id := fmt.Sprint("u-", n)
				status, answer, err := s.post(http.DefaultClient, id, minimal(id), func(*http.Request) {})
				assert.NoError(t, err)
				assert.Equal(t, http.StatusAccepted, status, "%s", answer)
			}
		})
	}
	sending.Wait()
	accepted := time.Since(began)
	require.Eventually(t, func() bool { return came.Load() >= exports }, 4*time.Minute, 100*time.Millisecond)
	var made []int
	for _, node := range nodes {
		made = append(made, int(node.metric("hiregate_delivery_attempt_seconds_count", "")))
	}
	t.Logf("accepted in %s, delivered in %s, by %v", accepted, time.Since(began), made)
	require.GreaterOrEqual(t, made[1]+made[2], least, "%v", made)
}
