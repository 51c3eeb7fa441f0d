package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tables makes the store's tables in the empty database of an address, and leaves it. It is set by the package tables;
// without it, databases are empty.
var Tables func(address string) error

// Each runs a test on each database, with the address of one of its own, which has the tables. The tests run side by
// side.
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

// SQLite is the address of a database with the tables.
func SQLite(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	Fill(t, path)
	return "sqlite://" + path
}

// Fill puts a SQLite database with the tables at a path.
func Fill(t testing.TB, path string) {
	t.Helper()
	file, err := filled()
	require.NoError(t, err)
	if file != nil {
		require.NoError(t, os.WriteFile(path, file, 0o600))
	}
}

// filled is the file of a SQLite database with the tables; nil: nobody makes them.
var filled = sync.OnceValues(func() ([]byte, error) {
	if Tables == nil {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "hiregate-tables-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "hiregate.db")
	if err := Tables("sqlite://" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// shared is the server of all tests of the process. Nothing stops it before the process ends.
var shared = sync.OnceValues(NewServer)

var databases atomic.Int64

// Postgres is the address of a database of the shared server, with the tables.
func Postgres(t testing.TB) string {
	t.Helper()
	address, err := CreatePostgres()
	require.NoError(t, err)
	return address
}

// CreatePostgres is Postgres for TestMain.
func CreatePostgres() (string, error) {
	template, err := original()
	if err != nil {
		return "", err
	}
	return create(template)
}

// PostgresIn is Postgres with the database's files in a folder that everybody may enter.
func PostgresIn(t testing.TB, folder string) string {
	t.Helper()
	template, err := original()
	require.NoError(t, err)
	s, err := shared()
	require.NoError(t, err)
	address, err := s.CreateIn(folder, fmt.Sprintf("test_%d", databases.Add(1)), template)
	require.NoError(t, err)
	return address
}

// EmptyPostgres is the address of a database of the shared server.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	address, err := create("template1")
	require.NoError(t, err)
	return address
}

func create(template string) (string, error) {
	s, err := shared()
	if err != nil {
		return "", err
	}
	return s.Create(fmt.Sprintf("test_%d", databases.Add(1)), template)
}

// original is the name of the database of the shared server that the others are copies of.
var original = sync.OnceValues(func() (string, error) {
	if Tables == nil {
		return "template1", nil
	}
	s, err := shared()
	if err != nil {
		return "", err
	}
	const name = "original"
	address, err := s.Create(name, "template1")
	if err != nil {
		return "", err
	}
	return name, Tables(address)
})

// StartServer starts a server of the test's own, which it may stop and start.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s, err := NewServer()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
