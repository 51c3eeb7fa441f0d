package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	p := serve(t, filepath.Join(t.TempDir(), "temporal.db"))

	own := map[string]bool{} // inodes of the process's sockets
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Process.Pid))
	require.NoError(t, err)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
			own[strings.Trim(target, "socket:[]")] = true
		}
	}

	var listening []string
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.Process.Pid, table))
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && own[f[9]] {
				addr, _, _ := strings.Cut(f[1], ":")
				listening = append(listening, addr)
			}
		}
	}
	require.Len(t, listening, 6, "frontend, history, matching, worker, UI, and what stands in front of it")
	others := 0
	for _, addr := range listening {
		require.Equal(t, "7F", addr[6:]) // 127.0.0.0/8, little-endian
		if addr != "0100007F" {
			others++
		}
	}
	require.Equal(t, 1, others, "the UI itself is at an address that can be guessed")
}
