//go:build cgo

package walvfs

// int walvfs_register(const char *name);
import "C"

import "fmt"

// Name is what a connection gives as its VFS.
const Name = "hiregate-wal"

func init() {
	if rc := C.walvfs_register(C.CString(Name)); rc != 0 {
		panic(fmt.Sprintf("registering a file system with SQLite failed with code %d", rc))
	}
}
