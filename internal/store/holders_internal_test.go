package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A request may take for ever to come in: its client sends a byte a second. Close does not wait for that.
func TestCloseWaitsForNobodyForEver(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), Options{})
	require.NoError(t, err)
	db.held = 50 * time.Millisecond
	release, ok := db.Hold()
	require.True(t, ok)
	require.NoError(t, db.Close())
	_, ok = db.Hold()
	require.False(t, ok)
	_, err = db.Export(t.Context(), 1)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, db.Ping(t.Context()), ErrUnavailable)
	release()
	require.NoError(t, db.Close())
}
