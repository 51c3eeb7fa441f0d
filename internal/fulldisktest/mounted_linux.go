package fulldisktest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Disk is a disk of a test's own, in memory.
type Disk struct {
	Folder string // where it is mounted
}

// RunOn runs a test with a disk of a size in bytes. Only the process that mounted it sees it, so the test runs in one of
// its own; that needs root, or a kernel that lets others have user namespaces.
func RunOn(t *testing.T, size int64, test func(*testing.T, *Disk)) {
	t.Helper()
	if os.Getenv(which) != t.Name() {
		apart := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if id := os.Geteuid(); id != 0 {
			const sysAdmin = 21 // CAP_SYS_ADMIN, which mounts
			apart.Cloneflags, apart.AmbientCaps = syscall.CLONE_NEWUSER, []uintptr{sysAdmin}
			apart.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
			apart.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		}
		runChild(t, apart)
		return
	}
	folder, err := os.MkdirTemp("", "hiregate-disk-")
	require.NoError(t, err)
	t.Cleanup(func() { os.Remove(folder) })
	require.NoError(t, syscall.Mount("hiregate", folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0777", size)))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	test(t, &Disk{folder})
}

func (d *Disk) filler() string { return filepath.Join(d.Folder, "filler") }

// Fill takes all room that there is.
func (d *Disk) Fill(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	require.True(t, errors.Is(err, syscall.ENOSPC) || errors.Is(err, io.ErrShortWrite), "%v", err)
}

// Leave gives back a number of bytes of what Fill took.
func (d *Disk) Leave(t *testing.T, bytes int64) {
	t.Helper()
	info, err := os.Stat(d.filler())
	require.NoError(t, err)
	require.NoError(t, os.Truncate(d.filler(), info.Size()-bytes))
}

// Free gives back what Fill took.
func (d *Disk) Free(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Remove(d.filler()))
}
