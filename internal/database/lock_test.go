package database

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A process that is being started has a copy of each open file for a moment.
func TestLockEndsThoughAProcessHasACopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	lock, err := acquireLock(path)
	require.NoError(t, err)
	copied, err := unix.Dup(int(lock.Fd()))
	require.NoError(t, err)
	defer unix.Close(copied)
	require.NoError(t, lock.Close())
	again, err := acquireLock(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
