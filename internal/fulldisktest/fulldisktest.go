//go:build unix

// Package fulldisktest lets a test run out of disk.
package fulldisktest

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// which tells a child process which test it is for.
const which = "HIREGATE_TEST_FULL_DISK"

// Whole is the room that there is without a limit.
const Whole = ^uint64(0)

// Run runs a test that sets how much room the disk has, in bytes for each file. A process can take room from itself
// alone, so the test runs in one of its own.
func Run(t *testing.T, test func(t *testing.T, room func(bytes uint64))) {
	t.Helper()
	if os.Getenv(which) == t.Name() {
		signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails then, instead of ending the process
		var limit syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
		test(t, func(bytes uint64) {
			limit.Cur = min(bytes, limit.Max)
			require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
		})
		return
	}
	runChild(t, nil)
}

// runChild runs the test again in a process of its own.
func runChild(t *testing.T, apart *syscall.SysProcAttr) {
	t.Helper()
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env, child.SysProcAttr = append(os.Environ(), which+"="+t.Name()), apart
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}
