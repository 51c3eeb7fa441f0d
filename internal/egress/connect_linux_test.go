package egress

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConnectingTakes5SecondsAtMost dials a listener whose queue is full, where Linux leaves a caller without an
// answer.
func TestConnectingTakes5SecondsAtMost(t *testing.T) {
	t.Parallel()
	addr := fullListener(t)
	started := time.Now()
	_, err := get(t, guard(t, allow(t, "127.0.0.1"), nil), "http://"+addr)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "dial", op.Op)
	require.True(t, op.Timeout())
	require.InDelta(t, 5*time.Second, time.Since(started), float64(2*time.Second))
}

func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	in4, ok := name.(*syscall.SockaddrInet4)
	require.True(t, ok)
	addr := netip.AddrPortFrom(netip.AddrFrom4(in4.Addr), uint16(in4.Port)).String()
	for range 64 {
		conn, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return addr
		}
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the listener's queue does not fill")
	return ""
}
