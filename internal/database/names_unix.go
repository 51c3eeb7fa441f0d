//go:build unix

package database

import (
	"os"
	"syscall"
)

// hasHardLink reports whether a file has a hard link.
func hasHardLink(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
