package filelock

import (
	"os"

	"golang.org/x/sys/windows"
)

// The byte that is locked lies behind all that the file holds: whoever is refused reads there whose it is.
const farAway = 1 << 30

// Try locks a file for this process alone, or fails at once.
func Try(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: farAway})
}

// Unlock gives the lock back.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: farAway})
}
