package receiver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store"
)

// A sender that has waited long enough is told to come again, and what it sent is not taken behind its back.
func TestStoreThatDoesNotAnswerInTime(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	db := b.Runtime.Store()
	busy, release, released := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		released <- db.Write(context.Background(), func(*store.Tx) error { close(busy); <-release; return nil })
	}()
	<-busy
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, q := range []request{{uuid: "u-1"}, {event: "VERIFY", body: verify}} {
		requireProblem(t, b.do(q.make().WithContext(ctx)), http.StatusServiceUnavailable, unavailable, "Retry-After", "5")
	}
	close(release)
	require.NoError(t, <-released)
	require.NoError(t, db.Ping(t.Context())) // what was queued has had its turn
	require.Empty(t, b.Exports(t))
	requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted)
}

const busy = "too many bodies are coming in at once: send this one again after the time in Retry-After"

// Bodies that are on their way take memory together: whose tenant has taken its share is told to come again, and
// others find room. Who sends to nobody takes none.
func TestTooManyBodiesAtOnce(t *testing.T) {
	t.Parallel()
	risen := counters(t, "hiregate_received_total", "crowded")
	b := newFixture(t, gatewaytest.Tenant("crowded"), gatewaytest.Tenant("globex"))
	b.Runtime.Unverified.Configure(1<<20, time.Minute)
	ours := request{path: "/hooks/crowded", secret: "crowded-secret", uuid: "u-1"}

	send, end := context.WithCancel(t.Context())
	answered := make(chan *httptest.ResponseRecorder)
	for _, path := range []string{"/hooks/crowded", "/hooks/nobody"} {
		r := request{path: path}.make()
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 450<<10)), untilDone{send}))
		go func() { answered <- b.do(r) }()
	}
	require.Equal(t, http.StatusNotFound, (<-answered).Code)
	require.Eventually(t, func() bool { return b.Runtime.Unverified.Used() == 500<<10 }, time.Minute, time.Millisecond)

	requireProblem(t, b.send(ours), http.StatusServiceUnavailable, busy, "Retry-After", "5", "Connection", "close")
	requireReceipt(t, b.send(request{path: "/hooks/globex", secret: "globex-secret"}), http.StatusAccepted)
	end()
	require.Equal(t, http.StatusUnauthorized, (<-answered).Code)
	require.Zero(t, b.Runtime.Unverified.Used())
	requireReceipt(t, b.send(ours), http.StatusAccepted)
	require.Zero(t, b.Runtime.Unverified.Used())
	require.Equal(t, map[string]float64{"busy": 1, "signature": 1, "accepted": 1}, risen())
}

// untilDone is a reader whose end comes with that of its context.
type untilDone struct{ context.Context }

func (u untilDone) Read([]byte) (int, error) { <-u.Done(); return 0, io.EOF }
