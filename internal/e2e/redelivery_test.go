package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shownRedelivery is what a redelivery has come to.
type shownRedelivery struct {
	ID, State                             string
	Total, Done, Failed, Waiting, Skipped int
}

// redelivery asks the running gateway for a redelivery; nothing of it while that does not answer.
func (s *system) redelivery(id string) (j shownRedelivery) {
	s.t.Helper()
	resp, err := http.Get("http://" + loopback(s.admin) + "/hiregate/v1/tenants/acme/redeliveries/" + id)
	if err != nil {
		return j
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&j) != nil || resp.StatusCode != http.StatusOK {
		return shownRedelivery{}
	}
	return j
}

// awaitRedelivery waits until a redelivery stands as wanted.
func (s *system) awaitRedelivery(id string, wanted func(shownRedelivery) bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return wanted(s.redelivery(id)) }, patience, 100*time.Millisecond)
}

// decoded reads the JSON that a command wrote.
func decoded[T any](t *testing.T, out string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(out), &v), out)
	return v
}

// An integration that was taken out of the Caddyfile gets what was accepted meanwhile, although gateway and Temporal are
// killed on the way.
func TestRedeliveryOfWhatWasMissedSurvivesCrashes(t *testing.T) {
	t.Parallel()
	with := shortRetries + "\n" + strings.ReplaceAll(shortRetries, "hris", "crm")
	s := newSystem(t, with)
	partner := s.startRecorder(ok)
	s.gateway.line("integration configured.*hris")
	s.awaitOutcome(s.accepted(minimal("c-before")), "delivered")
	s.tenant = strings.ReplaceAll(shortRetries, "hris", "crm")
	s.reload()
	const n = 40
	var ids []string
	for i := range n {
		ids = append(ids, s.accepted(minimal(fmt.Sprint("c-", i))))
	}
	for _, id := range ids {
		s.awaitOutcome(id, "delivered")
	}
	s.tenant = with
	s.reload()
	s.gateway.line(`an integration missed exports.*--tenant acme --integration hris --since \S+ --mode missing"`)
	require.Contains(t, s.cli("integration", "enable", "acme/hris"),
		fmt.Sprintf("%d exports of the last 7 days were never addressed to it", n))
	before := len(partner.of("CANDIDATE-EXPORT"))

	missed := []string{"export", "redeliver", "--tenant", "acme", "--integration", "hris", "--since", "1h", "--mode",
		"missing", "--rate", "5", "--json"}
	preview := decoded[struct{ Count int }](t, s.cli(append(missed, "--dry-run")...))
	require.Equal(t, n, preview.Count, "the one before is not missing")
	j := decoded[shownRedelivery](t, s.cli(append(missed, "--detach")...))
	s.awaitRedelivery(j.ID, func(j shownRedelivery) bool { return j.Done > 5 })
	s.gateway.kill()
	s.startGateway()
	s.awaitRedelivery(j.ID, func(j shownRedelivery) bool { return j.Done > 15 })
	s.cli("redelivery", "pause", "acme/"+j.ID)
	s.temporal.signal(syscall.SIGTERM)
	s.temporal.exitCode()
	s.cli("redelivery", "resume", "acme/"+j.ID) // it waits for Temporal
	require.Equal(t, "running", s.redelivery(j.ID).State)
	s.startTemporal()
	finished := shownRedelivery{ID: j.ID, State: "finished", Total: n, Done: n}
	s.awaitRedelivery(j.ID, func(j shownRedelivery) bool { return j == finished })
	for _, id := range ids {
		e, ok := s.show(id)
		require.True(t, ok)
		rounds := 0
		for _, d := range e.Deliveries {
			if d.Integration == "hris" {
				rounds++
				require.Equal(t, "delivered", d.Outcome)
				require.Equal(t, 1, d.Round)
			}
		}
		require.Equal(t, 1, rounds, id)
	}
	// A delivery is made again only if the gateway was killed between the answer and its commit.
	require.LessOrEqual(t, len(partner.of("CANDIDATE-EXPORT")), before+n+16)
}
