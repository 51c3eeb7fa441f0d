// Package temporaltest runs a real Temporal server for a test.
package temporaltest

import (
	"bufio"
	"bytes"
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// New starts a server at a free port, with a client that does not connect before it is used.
func New(t *testing.T) (address string, c client.Client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	free := l.Addr().(*net.TCPAddr)
	require.NoError(t, l.Close())
	Start(t, t.TempDir(), free.Port)
	c, err = client.NewLazyClient(client.Options{HostPort: free.String()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return free.String(), c
}

// Start runs temporal-dev, of TEMPORAL_DEV_BIN, else bin/temporal-dev, at a port of 127.0.0.1 until it is stopped or
// the test ends, and waits until it can be used. Its database is in the folder. The test's package lies two folders
// below the repository's.
func Start(t *testing.T, folder string, port int) (stop func()) {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("TEMPORAL_DEV_BIN"), "../../bin/temporal-dev"))
	require.NoError(t, err)
	require.FileExists(t, path, "run make build first, or name it in TEMPORAL_DEV_BIN")
	var out bytes.Buffer
	database := filepath.Join(folder, "temporal.db")
	server := exec.Command(path, "--lifeline", "--db", database, "--port", strconv.Itoa(port), "--ui-port", "0")
	server.Stderr = &out
	said, err := server.StdoutPipe()
	require.NoError(t, err)
	lifeline, err := server.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		require.NoError(t, lifeline.Close())
		_ = server.Wait() // however it ends
		if t.Failed() {
			t.Log(out.String())
		}
	}
	t.Cleanup(stop)
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "ready on")
	return stop
}
