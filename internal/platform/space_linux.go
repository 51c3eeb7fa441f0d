package platform

import "syscall"

// FreeSpace returns how many bytes the file system of a folder has left for this user, or an errno.
func FreeSpace(folder string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}
