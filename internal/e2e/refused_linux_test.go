package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestBacklogLeavesOnceItsPartnerIsRepaired is the story of docs/repair.md, command by command: a partner refuses
// everything, is repaired, and what waits for hours is attempted at once.
func TestBacklogLeavesOnceItsPartnerIsRepaired(t *testing.T) {
	t.Parallel()
	s := newSystem(t, hourlyRetries)
	var repaired atomic.Bool
	partner := s.startRecorder(func(event string, _ int) int {
		if event == "VERIFY" || repaired.Load() {
			return http.StatusOK
		}
		return http.StatusUnprocessableEntity
	})
	s.gateway.line("integration configured")
	var refused []string
	for n := range 15 {
		refused = append(refused, s.accepted(minimal(fmt.Sprint("c-", n))))
	}
	for _, id := range refused {
		s.awaitOutcome(id, "retrying")
	}

	require.Contains(t, s.cli("status"), "acme/hris: refuses what it gets since ")

	repaired.Store(true)
	require.Contains(t, s.cli("integration", "test", "acme/hris"), "acme/hris received the test export")
	screen := s.onTerminal("integration", "retry", "acme/hris")
	require.Contains(t, screen, "acme/hris: 15 of 15 exports were received, 0 failed again")
	left := 15
	for _, count := range regexp.MustCompile(`(\d+) of 15 still wait`).FindAllStringSubmatch(screen, -1) {
		now, err := strconv.Atoi(count[1])
		require.NoError(t, err)
		require.LessOrEqual(t, now, left, "it does not count down: %q", screen)
		left = now
	}
	require.Zero(t, left, "it does not count to zero: %q", screen)
	for _, id := range refused {
		s.awaitOutcome(id, "delivered")
	}
	require.Contains(t, s.cli("status"), "Nothing needs you.")
	require.Equal(t, "acme/hris: no export waits for its next attempt\n", s.cli("integration", "retry", "acme/hris"))
	counts := map[string]int{}
	for _, r := range partner.of("CANDIDATE-EXPORT") {
		counts[r.id]++
	}
	for _, id := range refused {
		require.Equal(t, 2, counts[id], "attempts of %s", id)
	}
}

// onTerminal runs a command whose output is a terminal, and returns what that shows.
func (s *system) onTerminal(args ...string) string {
	s.t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(s.t, err)
	defer ours.Close()
	require.NoError(s.t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(s.t, err)
	theirs, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(s.t, err)
	c := exec.Command(hiregate(s.t), append(args, "--admin", loopback(s.admin))...)
	c.Stdout, c.Stderr = theirs, theirs
	require.NoError(s.t, c.Start())
	require.NoError(s.t, theirs.Close())
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, ours) // it ends with an error once nobody has the other end
	require.NoError(s.t, c.Wait(), shown.String())
	return shown.String()
}
