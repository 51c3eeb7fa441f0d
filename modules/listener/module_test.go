package listener

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"
)

var open = Listen(func(caddy.Context) error { return nil })

func listen(t *testing.T, port int) net.Listener {
	t.Helper()
	l, err := open(context.WithoutCancel(t.Context()), Network, "127.0.0.1", fmt.Sprint(port), 0, net.ListenConfig{})
	require.NoError(t, err)
	return l.(net.Listener)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A connection that waits in the queue when its listener closes is taken by the next one: this is what a reload needs.
func TestWaitingConnectionIsTakenByTheNextListener(t *testing.T) {
	port := freePort(t)
	first := listen(t, port)
	second := listen(t, port)
	client, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, first.Close())
	_, err = first.Accept()
	require.ErrorIs(t, err, net.ErrClosed)

	server, err := second.Accept()
	require.NoError(t, err)
	defer server.Close()
	read := make([]byte, 5)
	_, err = server.Read(read)
	require.NoError(t, err)
	require.Equal(t, "hello", string(read))
	require.NoError(t, second.Close())
}

// A configuration that fails to start leaves its listener; the former one goes on.
func TestFormerListenerGoesOnWhenTheLatestLeaves(t *testing.T) {
	port := freePort(t)
	first := listen(t, port)
	accepted := make(chan error)
	accept := func() {
		conn, err := first.Accept()
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}
	go accept()
	second := listen(t, port)
	for range 2 {
		client, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		require.NoError(t, err)
		defer client.Close()
	}
	conn, err := second.Accept()
	require.NoError(t, err)
	conn.Close()
	require.NoError(t, second.Close())
	require.NoError(t, <-accepted, "the second connection is the former's again")
	go accept()
	require.NoError(t, first.Close())
	require.ErrorIs(t, <-accepted, net.ErrClosed)
}

func TestLastListenerEndsTheSocket(t *testing.T) {
	port := freePort(t)
	first, second := listen(t, port), listen(t, port)
	require.NoError(t, first.Close())
	require.ErrorIs(t, first.Close(), net.ErrClosed, "closed twice, it must count once")
	client, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	require.NoError(t, err, "the second listener went with the first")
	client.Close()
	require.NoError(t, second.Close())
	_, err = net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	require.Error(t, err)
	third := listen(t, port)
	require.NoError(t, third.Close())
}

func TestTakenPortIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = open(t.Context(), Network, "127.0.0.1", fmt.Sprint(l.Addr().(*net.TCPAddr).Port), 0, net.ListenConfig{})
	require.ErrorContains(t, err, "address already in use")
	_, err = open(t.Context(), Network, "127.0.0.1", "", 0, net.ListenConfig{})
	require.ErrorContains(t, err, "needs a port")
}

// Caddy cancels a configuration that fails to start before it shuts its servers down, which shutdown_delay may put off.
func TestConfigurationThatIsGivenUpLeavesAtOnce(t *testing.T) {
	port := freePort(t)
	first := listen(t, port)
	ctx, giveUp := context.WithCancel(t.Context())
	failing, err := open(ctx, Network, "127.0.0.1", fmt.Sprint(port), 0, net.ListenConfig{})
	require.NoError(t, err)
	giveUp()
	_, err = failing.(net.Listener).Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	client, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	require.NoError(t, err)
	defer client.Close()
	conn, err := first.Accept()
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, first.Close())
}
