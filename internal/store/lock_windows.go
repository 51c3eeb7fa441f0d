package store

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies behind all that the file holds: whoever is refused reads there whose it is.
var lockedByte = windows.Overlapped{OffsetHigh: 1}

// lockNow locks a file for this process alone, or fails at once.
func lockNow(f *os.File) error {
	at := lockedByte
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
}

func unlock(f *os.File) error {
	at := lockedByte
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

// hasOtherName reports false: a file's information does not have the number of its names here.
func hasOtherName(os.FileInfo) bool { return false }
