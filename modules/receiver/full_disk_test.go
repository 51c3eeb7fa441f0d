//go:build unix

package receiver_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fullDisk tells a child process that it is to fill its disk.
const fullDisk = "HIREGATE_TEST_FULL_DISK"

// Room on the disk ends and comes back. A process can take it from itself alone, by a limit on the size of files, so this
// runs in one of its own.
func TestFullDisk(t *testing.T) {
	if os.Getenv(fullDisk) != "" {
		fillDisk(t)
		return
	}
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestFullDisk$", "-test.v")
	child.Env = append(os.Environ(), fullDisk+"=1")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestFullDisk")
}

func fillDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails then, instead of ending the process
	b := newBench(t)
	first := requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted)

	var roomy syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &roomy))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1024, Max: roomy.Max}))
	for round := range 3 {
		for n := range 4 {
			requireProblem(t, b.send(request{uuid: fmt.Sprint("u-", n+2), body: another(n)}), http.StatusServiceUnavailable, unavailable, "Retry-After", "5")
		}
		requireProblem(t, b.send(request{body: full}), http.StatusServiceUnavailable, unavailable, "Retry-After", "5")
		requireProblem(t, b.send(request{event: "VERIFY", body: verify}), http.StatusServiceUnavailable, unavailable, "Retry-After", "5")
		require.Equal(t, http.StatusUnauthorized, b.send(request{unsigned: true}).Code, "round %d", round)
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &roomy))

	require.Len(t, b.Exports(t), 1, "something was half accepted")
	require.Equal(t, http.StatusOK, b.send(request{event: "VERIFY", body: verify}).Code)
	for n := range 4 {
		requireReceipt(t, b.send(request{uuid: fmt.Sprint("u-", n+2), body: another(n)}), http.StatusAccepted)
	}
	requireReceipt(t, b.send(request{body: full}), http.StatusAccepted)
	require.Equal(t, first, requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusOK))
	require.Len(t, b.Exports(t), 6)
	for _, e := range b.Exports(t) {
		require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e), "an export has no body")
	}
}
