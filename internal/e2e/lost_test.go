package e2e

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to move what happened into the past
)

// Temporal comes back without what it knew. What was under way is delivered all the same, and what was delivered is
// not delivered again. Nobody looks before it is overdue for half a minute; here an hour goes by in the database.
func TestEmptyTemporalLosesNoExport(t *testing.T) {
	t.Parallel()
	s := newSystem(t, "integration hris {\nurl http://PARTNER/inbound\nsecret "+outboundSecret+"\nretry 30m\n}")
	var well atomic.Bool
	partner := s.startRecorder(func(event string, n int) int {
		if event == "CANDIDATE-EXPORT" && n > 1 && !well.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	through := s.accepted(minimal("c-1"))
	s.awaitOutcome(through, "delivered")
	waits := s.accepted(minimal("c-2"))
	s.awaitOutcome(waits, "retrying")

	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	s.temporal.signal(syscall.SIGTERM)
	s.temporal.exitCode()
	s.remove("temporal.db*")
	s.change(`UPDATE exports SET dispatched_at = dispatched_at - 3600000000`,
		`UPDATE deliveries SET next_at = next_at - 3600000000`)

	well.Store(true)
	s.startTemporal()
	s.startGateway()
	e := s.awaitOutcome(waits, "delivered")
	require.Len(t, e.Deliveries, 1)
	require.Zero(t, e.Deliveries[0].Round)
	require.Equal(t, []int{500, 200}, []int{e.Deliveries[0].Attempts[0].Status, e.Deliveries[0].Attempts[1].Status})
	require.Equal(t, 1.0, s.metric("hiregate_dispatches_total", `result="lost"`))
	require.Len(t, partner.of("CANDIDATE-EXPORT"), 3)
}

// A database that was restored from a backup does not know what was delivered since. Temporal does, and nobody gets it
// twice.
func TestRestoredDatabaseLearnsWhatWasDelivered(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	partner := s.startRecorder(ok)
	id := s.accepted(minimal("c-1"))
	s.awaitOutcome(id, "delivered")
	s.gateway.signal(syscall.SIGTERM)
	s.gateway.exitCode()
	s.change(`UPDATE deliveries SET outcome = 'retrying', next_at = created_at - 2700000000`)
	s.startGateway()
	e := s.awaitOutcome(id, "delivered")
	require.Equal(t, 0, e.Deliveries[0].Round)
	require.Len(t, partner.of("CANDIDATE-EXPORT"), 1)
}

// change writes to the database, past the gateway.
func (s *system) change(statements ...string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "hiregate.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(s.t, err)
	defer db.Close()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		require.NoError(s.t, err)
	}
}
