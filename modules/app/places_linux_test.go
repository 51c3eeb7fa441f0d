package app

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A file that may not be read is not one that is missing: a person who made it under umask 077 would look for it in vain.
func TestPlaceholderOfAForbiddenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("s"), 0o000))
	require.Empty(t, forbidden("{file."+path+"x}"))
	require.Empty(t, forbidden("{env.HOME}"))
	said := make(chan string)
	go func() {
		runtime.LockOSThread() // without Unlock: the thread ends with this goroutine
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(65534); err != nil {
				said <- err.Error()
				return
			}
		}
		said <- forbidden("{file." + path + "}")
	}()
	require.Contains(t, <-said, "permission denied: let the gateway's user")
}
