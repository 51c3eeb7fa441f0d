package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// freePorts returns n ports that are free on both loopback addresses. They lie below those that systems give to
// outgoing connections, so that they are still free when a process comes back to them.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	const first, last = 10240, 32767
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		require.Less(t, tries, 1000, "there are no free ports")
		port := first + rand.IntN(last-first+1)
		four, err := net.Listen("tcp4", loopback(port))
		if err != nil {
			continue
		}
		defer four.Close() // not before all are found, or one could be found twice
		six, err := net.Listen("tcp6", fmt.Sprintf("[::1]:%d", port))
		switch {
		case err == nil:
			defer six.Close()
		case errors.Is(err, syscall.EADDRINUSE):
			continue
		}
		ports = append(ports, port)
	}
	return ports
}

// loopback is the address of a port on 127.0.0.1.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// isFree tells whether a port of 127.0.0.1 can be listened at.
func isFree(port int) bool {
	l, err := net.Listen("tcp4", loopback(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

func flag(name string, port int) string { return fmt.Sprintf("--%s=%d", name, port) }
