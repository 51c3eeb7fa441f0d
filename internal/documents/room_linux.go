package documents

import (
	"fmt"
	"syscall"
)

// Free is how many bytes the file system of the folder has left for us.
func (f *Files) Free() (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(f.root, &s); err != nil {
		return 0, fmt.Errorf("asking how much room the document store %s has: %w", f.root, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}
