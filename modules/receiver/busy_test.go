package receiver_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

// A sender that has waited long enough is told to come again, and what it sent is not taken behind its back.
func TestStoreThatDoesNotAnswerInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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
