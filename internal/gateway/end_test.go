package gateway

import (
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// newRuntime makes a runtime with a database of its own, where no Temporal is. The test ends both.
func newRuntime(t *testing.T) (*Runtime, *Database) {
	t.Helper()
	folder := t.TempDir()
	database := &Database{Address: "sqlite://" + filepath.Join(folder, "hiregate.db")}
	r, err := NewRuntime(Settings{Documents: filepath.Join(folder, "documents"), Temporal: "127.0.0.1:1",
		Namespace: "default"}, database, zap.NewNop())
	require.NoError(t, err)
	return r, database
}

// An attempt may take 20 s to its end. A late request is told at once that its configuration is gone.
func TestLateRequestDoesNotWaitForTheEnd(t *testing.T) {
	t.Parallel()
	r, database := newRuntime(t)
	require.NoError(t, r.Start(t.Context()))
	attempt := make(chan struct{})
	r.running.Go(func() { <-attempt })
	ended := make(chan error, 1)
	go func() { ended <- r.Destruct() }()
	require.Eventually(t, func() bool {
		release, ok := (&Gateway{Runtime: r}).Hold(httptest.NewRecorder())
		if ok {
			release()
		}
		return !ok
	}, 5*time.Second, time.Millisecond)
	require.Empty(t, ended)
	close(attempt)
	require.NoError(t, <-ended)
	require.NoError(t, database.Destruct())
}
