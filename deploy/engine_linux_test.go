package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// engine returns docker on an engine: the one that runs, else one of the test's own, which leaves nothing behind and
// touches neither the network nor its rules. host is its address; empty: the usual one.
func engine(t *testing.T) (run docker, host string) {
	t.Helper()
	if exec.Command(program(t, "docker"), "info").Run() == nil {
		return at(t, ""), ""
	}
	require.Zero(t, os.Geteuid(), "no Docker engine runs: start one, or run this test as root, which starts its own")
	dockerd := program(t, "dockerd")
	folder, err := os.MkdirTemp("", "engine") // not t.TempDir: a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	socket := "unix://" + filepath.Join(folder, "docker.sock")
	log, err := os.Create(filepath.Join(folder, "log"))
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	// vfs copies where others mount: slower, but it works on every file system and inside containers.
	cmd := exec.Command(dockerd, "--host="+socket, "--data-root="+filepath.Join(folder, "data"),
		"--exec-root="+filepath.Join(folder, "exec"),
		"--pidfile="+filepath.Join(folder, "pid"), "--storage-driver=vfs", "--bridge=none", "--iptables=false",
		"--ip6tables=false")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // when this process is killed
	ended := make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // whose end is what Pdeathsig is about
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // however it ends
		}
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		<-ended
		if t.Failed() {
			out, _ := os.ReadFile(log.Name())
			t.Logf("dockerd wrote at the end:\n%s", out[max(0, len(out)-2000):])
		}
	})
	require.Eventually(t, func() bool {
		select {
		case <-ended:
			return true
		default:
			return exec.Command(program(t, "docker"), "--host="+socket, "info").Run() == nil
		}
	}, patience, 100*time.Millisecond, "dockerd does not come up")
	select {
	case <-ended:
		require.Fail(t, "dockerd ended")
	default:
	}
	return at(t, socket), socket
}
