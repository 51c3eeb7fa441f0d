//go:build unix

package platform

import (
	"os"
	"syscall"
)

// HasHardLink reports whether a file has more than one name.
func HasHardLink(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
