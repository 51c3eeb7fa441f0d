package gateway_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store"
)

func newGateway(t *testing.T, folder string) (*gateway.Gateway, *gateway.Database) {
	t.Helper()
	database := &gateway.Database{Address: "sqlite://" + filepath.Join(folder, "hiregate.db")}
	runtime, err := gateway.NewRuntime(gateway.Settings{
		Database: database.Address, Documents: filepath.Join(folder, "documents"), Temporal: gatewaytest.Nowhere,
		Namespace: "default",
	}, database, zap.NewNop())
	require.NoError(t, err)
	return &gateway.Gateway{Runtime: runtime, Now: time.Now}, database
}

// A request may come before its configuration was started: whatever needs the store opens it.
func TestFirstRequestOpensTheStore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	g, database := newGateway(t, folder)
	require.Empty(t, listed(t, folder), "a runtime that was not started made files")
	release, ok := g.Hold(httptest.NewRecorder())
	require.True(t, ok)
	release()
	require.NoError(t, g.Runtime.Ready(t.Context()))
	require.NoError(t, g.Runtime.Destruct())
	require.NoError(t, database.Destruct())
}

// A request may come after its configuration has ended: it opens nothing again, for nobody would close it.
func TestLateRequestOpensNothing(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		folder := t.TempDir()
		g, database := newGateway(t, folder)
		if started {
			require.NoError(t, g.Runtime.Start(t.Context()))
		}
		require.NoError(t, g.Runtime.Destruct())
		require.NoError(t, database.Destruct())
		_, ok := g.Hold(httptest.NewRecorder())
		require.False(t, ok)
		require.Error(t, g.Runtime.Start(t.Context()))
		if !started {
			require.Empty(t, listed(t, folder))
		}
		db, err := store.Open(t.Context(), database.Address, store.Options{})
		require.NoError(t, err, "the database is locked still")
		require.NoError(t, db.Close())
	}
}

// What a request holds is closed when it lets go, not before.
func TestEndWaitsForRequests(t *testing.T) {
	t.Parallel()
	g, database := newGateway(t, t.TempDir())
	require.NoError(t, g.Runtime.Start(t.Context()))
	release, ok := g.Hold(httptest.NewRecorder())
	require.True(t, ok)
	require.NoError(t, g.Runtime.Destruct())
	closed := make(chan error, 1)
	go func() { closed <- database.Destruct() }()
	require.Never(t, func() bool { return len(closed) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	require.NoError(t, g.Runtime.Ready(t.Context()), "the store was closed under a request")
	release()
	require.NoError(t, <-closed)
	require.Error(t, g.Runtime.Ready(t.Context()))
}

// A runtime that takes the place of another one, of the same database, removes nothing that the former is still taking
// in; the next process does.
func TestUploadsOutliveAReload(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	g, database := newGateway(t, folder)
	require.NoError(t, g.Runtime.Start(t.Context()))
	files := g.Runtime.Archive.Files
	name, err := g.Runtime.Archive.BeginUpload(t.Context())
	require.NoError(t, err)
	_, err = files.Put(t.Context(), name, strings.NewReader("%PDF-1.4"), 100)
	require.NoError(t, err)
	there := func(r *gateway.Runtime) bool {
		file, _, err := files.Open(name)
		if err == nil {
			require.NoError(t, file.Close())
		}
		noted, listing := r.Store().ListUploads(t.Context(), time.Now().Add(time.Hour), 0, 10)
		require.NoError(t, listing)
		require.Equal(t, err == nil, len(noted) == 1)
		return err == nil
	}
	settings := g.Runtime.Settings
	settings.Temporal = "127.0.0.1:2"
	next, err := gateway.NewRuntime(settings, database, zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, next.Start(t.Context()))
	require.True(t, there(next), "an application that was being taken in lost its file")
	require.NoError(t, g.Runtime.Destruct())
	require.NoError(t, next.Destruct())
	require.NoError(t, database.Destruct())

	g, database = newGateway(t, folder)
	require.NoError(t, g.Runtime.Start(t.Context()))
	require.False(t, there(g.Runtime))
	require.NoError(t, g.Runtime.Destruct())
	require.NoError(t, database.Destruct())
}

func listed(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
