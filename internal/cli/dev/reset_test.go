package dev

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reset removes what hiregate dev left, and nothing else; nor anything where no hiregate dev ran.
func TestResetRemovesWhatEarlierRunsLeft(t *testing.T) {
	t.Parallel()
	ours := []string{"hiregate.db", "hiregate.db-wal", "hiregate.db-shm", "documents/ab/abcd", "temporal.db",
		"temporal-cli.db", "caddy/caddy/autosave.json", "signin.key", "gateway.log", "gateway.log.old"}
	theirs := []string{"thesis.txt", "dev.lock", "children.lock"}
	fill := func(dir string, names ...string) {
		for _, name := range names {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
	}
	used, strange := t.TempDir(), t.TempDir()
	fill(used, append(append(ours, theirs...), configName)...)
	fill(strange, append(ours, theirs...)...)
	require.NoError(t, reset(used))
	left, err := os.ReadDir(used)
	require.NoError(t, err)
	var names []string
	for _, one := range left {
		names = append(names, one.Name())
	}
	require.ElementsMatch(t, theirs, names)
	require.NoError(t, reset(strange))
	for _, name := range append(ours, theirs...) {
		require.FileExists(t, filepath.Join(strange, name))
	}
	require.NoError(t, reset(t.TempDir()), "there is nothing to reset")
}
