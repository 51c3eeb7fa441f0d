//go:build unix

package platform

import (
	"fmt"
	"syscall"
)

// openFilesLimit is how many files this process may have open, as " (1024)"; empty when that is not known.
func openFilesLimit() string {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return ""
	}
	return fmt.Sprintf(" (%d)", limit.Cur)
}
