//go:build unix

package database

import (
	"os"
	"syscall"
)

// hasOtherName reports whether a file has a hard link.
func hasOtherName(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
