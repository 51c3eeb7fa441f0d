package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/filelock"
)

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	require.NoError(t, filelock.Try(first))
	require.Error(t, filelock.Try(second))
	require.NoError(t, filelock.Unlock(first))
	require.NoError(t, filelock.Try(second))
}
