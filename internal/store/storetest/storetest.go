package storetest

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each runs a test on each database, with the address of an empty one. The tests run side by side.
func Each(t *testing.T, test func(t *testing.T, address string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
}

// SQLite is the address of a database that is not there yet.
func SQLite(t testing.TB) string {
	return "sqlite://" + filepath.Join(t.TempDir(), "hiregate.db")
}

// shared is the server of all tests of the process. Nothing stops it before the process ends.
var shared = sync.OnceValues(NewServer)

var databases atomic.Int64

// Postgres is the address of an empty database of the shared server.
func Postgres(t testing.TB) string {
	t.Helper()
	s, err := shared()
	require.NoError(t, err)
	address, err := s.Create(fmt.Sprintf("test_%d", databases.Add(1)))
	require.NoError(t, err)
	return address
}

// StartServer starts a server of the test's own, which it may stop and start.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s, err := NewServer()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
