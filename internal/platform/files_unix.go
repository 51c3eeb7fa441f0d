//go:build unix

package platform

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SyncFolder makes the names of the files in a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// openFilesLimit is how many files this process may have open, as " (1024)"; empty when that is not known.
func openFilesLimit() string {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return ""
	}
	return fmt.Sprintf(" (%d)", limit.Cur)
}
